"""On-demand queries: on what tables, named windows and aggregations hold now (semantics 11)."""

from lockstep.operators.ondemand.run import Changed, read, write

__all__ = ["Changed", "read", "write"]
