"""Tests of the bridge to R, a file for each of its modules."""
