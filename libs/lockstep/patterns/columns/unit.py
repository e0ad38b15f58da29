"""What the units of patterns share: what they are made of, what they read and write, and the state
of each instance of a partition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.columns.output import Output
from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Realms
from lockstep.columns.units import States
from lockstep.patterns.columns.rows import State
from lockstep.patterns.conditions import Comparison
from lockstep.plan import QueryNode
from lockstep.selection.columns import SelectorOperator
from lockstep.selection.state import SelectorState


@dataclass(frozen=True, slots=True)
class PatternParts:
    """A query's states, what their conditions compare with what is bound, its selector, and where
    it stands. `writes`: the name under which units know its target."""

    node: QueryNode
    writes: str
    place: int
    realms: Realms
    states: Sequence[State]
    comparisons: Sequence[Comparison]
    selector: SelectorOperator
    pool: StringPool


class Partial(Protocol):
    """The partial matches in the reference's form, instance by instance."""

    def stored(self, realm: int) -> Any:
        """Those of an instance."""

    def all_stored(self) -> None:
        """What was made ready for `stored` goes."""

    def load(self, realm: int, state: Any) -> None:
        """The other way round."""


class PatternUnit:
    """See Unit."""

    _partial: Partial

    def __init__(self, parts: PatternParts) -> None:
        node, realms = parts.node, parts.realms
        self.name = node.name
        self.place = parts.place
        self.writes = parts.writes
        self.reads = tuple(dict.fromkeys(state.stream for state in parts.states))
        self.is_observed = not realms.is_partition
        self._keeps_realms = not realms.is_partition or node.writes.startswith("#")
        self._realms = realms
        self._states = parts.states
        self._selector = parts.selector
        self._selecting = SelectorState(self.name, realms, parts.selector)

    def _leaves(self, output: Output) -> Output:
        """As it leaves the partition, unless it goes to an inner stream."""
        return output if self._keeps_realms else output.without_realms()

    def store(self, states: States) -> None:
        self._selecting.prepare()
        for realm, path in self._realms.paths(self.name):
            states.operators[f"{path}/pattern"] = self._partial.stored(realm)
            states.operators[f"{path}/selector"] = self._selecting.stored(realm)
        self._partial.all_stored()

    def load(self, states: States) -> None:
        for realm, path in self._realms.paths(self.name):
            self._selecting.load(realm, states.operators[f"{path}/selector"])
            self._partial.load(realm, states.operators[f"{path}/pattern"])
        self._selecting.reserve()
