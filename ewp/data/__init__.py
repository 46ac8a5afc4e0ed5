"""From what a user hands over to validated rows: checks, sources, canonical order, splits."""
