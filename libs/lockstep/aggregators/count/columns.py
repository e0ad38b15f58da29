"""count in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lockstep.aggregators.accumulators import LONG, Chosen, Feed, Grouped, Leaves
from lockstep.aggregators.count import kernel
from lockstep.columns.column import Column
from lockstep.columns.keys import Ids
from lockstep.events import AttributeType


class Counts(Grouped):
    """count(): nulls count too."""

    names = (("count", np.int64),)

    def run(self, feed: Feed, arguments: Sequence[Column]) -> None:
        self._out = np.empty(len(feed.kind), np.int64)
        kernel.run_counts(*self._marked(feed), self.arrays["count"], self._out)

    def result(self, name: str) -> Column:
        return Column(LONG, self._out)

    def store(self, groups: Ids) -> list[Any]:
        return self._at(groups, "count")[0]

    def load(self, groups: Ids, states: Sequence[Any]) -> None:
        self._put(groups, count=states)


def choose(name: str, types: Sequence[AttributeType], leaves: Leaves) -> Chosen:
    """See Choose."""
    return Chosen("count", Counts, reads=False)
