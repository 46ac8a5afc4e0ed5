"""Pages about fits and comparisons: one HTML file each, which needs nothing else."""
