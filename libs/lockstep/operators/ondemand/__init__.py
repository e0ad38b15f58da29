"""On-demand queries: on what tables, named windows and aggregations hold now (semantics 11)."""

from lockstep.operators.ondemand.run import read, write

__all__ = ["read", "write"]
