"""Choosing the penalty, the scaling and the form of the weights without labels."""
