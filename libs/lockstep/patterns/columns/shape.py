"""From the tree of a pattern or sequence to the tables that the kernel goes by: nodes, spans of
`every`, and the states of each stream. patterns.meaning.chain does so for the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lockstep.columns.bound import SLOTS_MAX
from lockstep.columns.rule import NotLowerable
from lockstep.patterns.columns import token_kernel as machine
from lockstep.patterns.meaning.spans import Span, settle_spans
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern


@dataclass(slots=True)
class Node:
    """One element of the chain; `absent`: which of its sides are absences; `waits`: for how long,
    or None until the node is done."""

    kind: int
    slot: int
    minimum: int = 1
    maximum: int | None = 1
    is_and: bool = False
    absent: tuple[bool, bool] = (False, False)
    waits: tuple[int | None, int | None] = (None, None)

    @property
    def is_timed(self) -> bool:
        """Whether it waits for time to pass."""
        return self.waits != (None, None)

    @property
    def is_optional(self) -> bool:
        return self.kind == machine.COUNT and self.minimum == 0

    @property
    def sides(self) -> int:
        """How many states it has."""
        return 2 if self.kind == machine.LOGICAL else 1


@dataclass(slots=True)
class Shape:
    """What a pattern is made of; raises NotLowerable for what has no kernel."""

    pattern: CheckedPattern
    nodes: list[Node] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.pattern.states) > SLOTS_MAX:
            raise NotLowerable(f"a pattern of more than {SLOTS_MAX} states")
        self._add(self.pattern.input.element)
        last = self.nodes[-1]
        settle_spans(self.nodes, self.spans, last if last.kind == machine.COUNT else None)

    @property
    def is_sequence(self) -> bool:
        """Whether the states are filled by consecutive events."""
        return self.pattern.input.is_sequence

    @property
    def within_ms(self) -> int:
        """How old a token may become; -1 for any age."""
        within_ms = self.pattern.input.within_ms
        return -1 if within_ms is None else within_ms

    @property
    def is_timed(self) -> bool:
        """Whether some state waits for time to pass."""
        return any(node.is_timed for node in self.nodes)

    @property
    def waits_from_start(self) -> bool:
        """Whether one waits before anything has come."""
        for node in self.nodes:
            if not node.is_optional:
                return node.is_timed
        return False

    def _slots(self) -> int:
        return sum(node.sides for node in self.nodes)

    def _add(self, element: ast.StateElement) -> None:
        match element:
            case ast.ChainState(elements=elements):
                for part in elements:
                    self._add(part)
            case ast.EveryState(state=state):
                span = Span(len(self.nodes), len(self.nodes))
                self.spans.append(span)
                self._add(state)
                span.last = len(self.nodes) - 1
            case ast.StreamState():
                self.nodes.append(Node(machine.STREAM, self._slots()))
            case ast.CountState(min=minimum, max=maximum):
                self.nodes.append(Node(machine.COUNT, self._slots(), minimum, maximum))
            case ast.AbsentState(for_ms=for_ms):
                waits = (for_ms, None)
                node = Node(machine.ABSENCE, self._slots(), absent=(True, False), waits=waits)
                self.nodes.append(node)
            case ast.LogicalState(left=left, right=right, is_and=is_and):
                absent = (isinstance(left, ast.AbsentState), isinstance(right, ast.AbsentState))
                node = Node(machine.LOGICAL, self._slots(), is_and=is_and, absent=absent)
                node.waits = (_wait(left), _wait(right))
                self.nodes.append(node)

    # --- tables ----------------------------------------------------------------------------------

    def node_table(self, *, is_siddhi_5_1: bool) -> Any:
        """The kernel's `nodes`."""
        table = np.zeros((len(self.nodes), machine.NODE_WIDTH), np.int64)
        opens = {span.first: n for n, span in enumerate(self.spans)}
        closes = {span.last: n for n, span in enumerate(self.spans) if not span.is_optional}
        for index, node in enumerate(self.nodes):
            row = table[index]
            row[machine.KIND], row[machine.SLOT] = node.kind, node.slot
            row[machine.MINIMUM] = node.minimum
            row[machine.MAXIMUM] = -1 if node.maximum is None else node.maximum
            bounded = node.minimum >= 2 and node.maximum is not None
            row[machine.EXCLUSIVE] = not (node.kind == machine.COUNT and bounded)
            row[machine.IS_AND] = node.is_and
            row[machine.LEADS] = index == 0 and any(node.absent)
            loses = is_siddhi_5_1 and index == len(self.nodes) - 1 and node.is_and
            row[machine.SILENT] = loses and not any(node.absent)
            row[machine.OPENS], row[machine.CLOSES] = opens.get(index, -1), closes.get(index, -1)
            row[machine.ABSENT : machine.ABSENT + 2] = node.absent
            row[machine.WAIT : machine.WAIT + 2] = [-1 if w is None else w for w in node.waits]
        return table

    def span_table(self) -> Any:
        """The kernel's `spans`."""
        table = [(span.first, span.last) for span in self.spans]
        return np.array(table, np.int64).reshape(-1, 2)

    def leaves(self, streams: Sequence[str], stream_of: Sequence[int]) -> tuple[Any, Any]:
        """The kernel's `leaves` and `leaves_of`; of each stream the later states first, of a
        logical state the left side first."""
        leaves: list[tuple[int, int]] = []
        starts = [0]
        for stream in range(len(streams)):
            leaves += [
                (index, side)
                for index in reversed(range(len(self.nodes)))
                for side in range(self.nodes[index].sides)
                if stream_of[self.nodes[index].slot + side] == stream
            ]
            starts.append(len(leaves))
        return np.array(leaves, np.int64), np.array(starts, np.int64)


def _wait(side: ast.StreamState | ast.AbsentState) -> int | None:
    return side.for_ms if isinstance(side, ast.AbsentState) else None
