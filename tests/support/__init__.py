"""What several test modules share: slow definitions to compare with, data sets whose structure is
known, made-up results, a browser. Test modules import from here and never from one another, so
that each of them can be read, run and moved by itself.
"""
