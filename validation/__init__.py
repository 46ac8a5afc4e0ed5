"""The evidence: the paper's tables and figures, made again, and what the paper leaves open.

``python -m validation.run`` (or ``make validate``) fills cells, which are kept on disk, and writes
the report from those that are finished. `tasks` computes, `sections` turns finished cells into
tables, pictures and verdicts, `page` writes them down.
"""
