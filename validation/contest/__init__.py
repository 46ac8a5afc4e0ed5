"""The contest: this package's default against what a statistician would use instead.

`sources` reads data of other packages, `registry` lists the real sets and `designs` the simulated
ones; `contestants` are the methods; `ranks` compares them and `reasons` asks why one was behind.
The cells, and what the report shows, are in `validation.studies.contest`.
"""
