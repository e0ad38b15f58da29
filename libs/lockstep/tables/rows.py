"""What a slice brings to a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Longs
from lockstep.tables.writers import Writer


class Rows:
    """The rows that writers brought, one writer's behind the other's, and in order."""

    def __init__(
        self, writers: Sequence[tuple[Writer, Chunks]], actions: Sequence[Any], arranged: Longs
    ) -> None:
        self.writers = writers
        self.actions = actions
        lengths = [len(chunks) for _, chunks in writers]
        self.owner = np.repeat(np.arange(len(writers)), lengths)[arranged]
        starts = np.append(0, np.cumsum(lengths))[:-1]
        self.row = arranged - starts[self.owner]
        self.times = np.concatenate([chunks.times for _, chunks in writers])[arranged]
        self.now = np.concatenate([chunks.per_event(chunks.now) for _, chunks in writers])[arranged]
