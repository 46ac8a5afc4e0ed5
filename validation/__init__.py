"""The evidence: the paper's tables and figures, made again, and what the paper leaves open.

``python -m validation.run`` (or ``make validate``) fills cells, which are kept on disk, and writes
the report from those that are finished. Each of `studies` has its cells, what they compute, and its
tables, pictures and verdicts; `plan` and `compose` put them together, `page` writes them down.
"""
