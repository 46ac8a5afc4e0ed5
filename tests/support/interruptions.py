"""Ctrl-C at a chosen moment."""

import itertools


def interrupted_from(call, plain):
    """A function like ``plain`` that is interrupted at a call (the first is 1) and from then on."""
    calls = itertools.count(1)

    def interrupted(*arguments):
        if next(calls) >= call:
            raise KeyboardInterrupt
        return plain(*arguments)

    return interrupted
