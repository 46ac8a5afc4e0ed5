"""Mixtures of normal and t distributions, and the choice of the one that finishes a partition."""
