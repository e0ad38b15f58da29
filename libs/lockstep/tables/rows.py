"""What a slice brings to a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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
        self._arranged = arranged
        self._is_one = len(writers) == 1
        lengths = [len(chunks) for _, chunks in writers]
        self._starts = np.append(0, np.cumsum(lengths))[:-1]
        self.owner = np.repeat(np.arange(len(writers)), lengths)
        if not self._is_one:
            self.owner = self.owner[arranged]

    @cached_property
    def row(self) -> Longs:
        """Which of its writer's rows each is."""
        return self._arranged if self._is_one else self._arranged - self._starts[self.owner]

    @cached_property
    def now(self) -> Longs:
        """The app clock at each."""
        now = np.concatenate([chunks.per_event(chunks.now) for _, chunks in self.writers])
        return now[self._arranged]

    def times_of(self, writes: Longs) -> Longs:
        """The timestamps of some."""
        return np.concatenate([chunks.times for _, chunks in self.writers])[self._arranged[writes]]
