"""Execution in columns: whole slices through vectorised operators, exactly as the reference
would."""

from lockstep.columns.column import Suspected, Unfit
from lockstep.columns.shards import Shard
from lockstep.execute.columnar.executor import ColumnarExecutor, NotColumnar, lowering_of

__all__ = ["ColumnarExecutor", "NotColumnar", "Shard", "Suspected", "Unfit", "lowering_of"]
