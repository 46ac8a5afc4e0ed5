"""What every room stands on: types, checks of options, processes and progress; and the version."""

__version__ = "0.2.0"
