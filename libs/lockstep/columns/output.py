"""The rows that a query brings in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lockstep.columns.chunks import Chunks, empty
from lockstep.columns.flow import Kinds
from lockstep.columns.keys import Ids
from lockstep.columns.order import Order
from lockstep.events import AttributeType


@dataclass(frozen=True, eq=False)
class Output:
    """The rows of a query: as they arrive in its target (all current), and their kinds before that
    (None: all current)."""

    chunks: Chunks
    kinds: Kinds | None = None
    operations: npt.NDArray[np.int8] | None = None
    """What each row does at its destination, for the changes of a table."""
    silent: Order | None = None
    """Chunks that a join turned into no row at all, which observers hear of."""
    groups: Ids | None = None
    """The group of each row, where the query has groups."""

    def without_realms(self) -> Output:
        """The rows as they leave a partition."""
        return replace(self, chunks=replace(self.chunks, keys=None))

    @classmethod
    def nothing(cls, types: Sequence[AttributeType]) -> Output:
        """No rows."""
        return cls(empty(types))
