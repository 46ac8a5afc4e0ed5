"""Studies, one file each: its cells, what they compute, and its sections of the report."""
