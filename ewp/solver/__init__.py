"""The algorithm: weight rules, schedules, MM steps, starts, polish, and whole fits of an engine."""
