"""Execution in columns: whole slices through vectorised operators, exactly as the reference
would."""

from lockstep.execute.columnar.column import Unfit
from lockstep.execute.columnar.executor import ColumnarExecutor, NotColumnar, lowering_of

__all__ = ["ColumnarExecutor", "NotColumnar", "Unfit", "lowering_of"]
