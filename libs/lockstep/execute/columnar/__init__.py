"""Execution in columns: whole slices through vectorised operators, exactly as the reference
would."""

from lockstep.execute.columnar.column import Unfit
from lockstep.execute.columnar.executor import ColumnarExecutor, NotColumnar, lowering_of
from lockstep.execute.columnar.shards import Shard

__all__ = ["ColumnarExecutor", "NotColumnar", "Shard", "Unfit", "lowering_of"]
