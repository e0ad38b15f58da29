"""On-demand queries: on what tables, named windows and aggregations hold now (semantics 11)."""

from lockstep.operators.ondemand.run import run

__all__ = ["run"]
