"""From the tree of a pattern or sequence to its chain of nodes and the spans of `every`."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.operators.contract import Context
from lockstep.patterns.meaning.absent_state import AbsentNode, LeadingAbsentNode
from lockstep.patterns.meaning.admission import Admission
from lockstep.patterns.meaning.count_state import CountNode
from lockstep.patterns.meaning.inattentive_state import InattentiveAbsentNode
from lockstep.patterns.meaning.logical_state import LeadingLogicalNode, LogicalNode, Side
from lockstep.patterns.meaning.node import Machine, Node
from lockstep.patterns.meaning.spans import Span, settle_spans
from lockstep.patterns.meaning.stream_state import StreamNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedPattern


@dataclass(frozen=True, slots=True)
class Leaf:
    """A state that events of a stream go to: the node and the side of it."""

    source: str
    node: Node
    side: int = 0


class Chain:
    """Nodes, leaves in order of writing, spans in order. Built once per pattern instance."""

    def __init__(self, pattern: CheckedPattern, machine: Machine, context: Context) -> None:
        self.nodes: list[Node] = []
        self.leaves: list[Leaf] = []
        self.spans: list[Span] = []
        self._states = iter(pattern.states)
        self._machine = machine
        self._context = context
        self._add(pattern.input.element)
        last = self.nodes[-1]
        settle_spans(self.nodes, self.spans, last if isinstance(last, CountNode) else None)
        if context.is_siddhi_5_1:
            self._lose_what_the_first_side_completes()

    def _lose_what_the_first_side_completes(self) -> None:
        """semantics 23, 1: of `A and B` at the end only B, coming last, gives a match."""
        last = self.nodes[-1]
        if isinstance(last, LogicalNode):
            of_streams = not any(side.is_absent for side in last.sides)
            last.loses_first_side = last.is_and and of_streams

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
            case ast.StreamState(stream=stream):
                self._append(StreamNode(self._machine, len(self.nodes), self._door()), stream)
            case ast.CountState(state=state, min=minimum, max=maximum):
                node = CountNode(self._machine, len(self.nodes), self._door(), minimum, maximum)
                self._append(node, state.stream)
            case ast.AbsentState(stream=stream, for_ms=for_ms):
                if for_ms is None:
                    raise ValueError("an absence alone needs a time (the checker refuses it)")
                kind = AbsentNode if self.nodes else self._leading_kind()
                self._append(kind(self._machine, len(self.nodes), self._door(), for_ms), stream)
            case ast.LogicalState():
                self._add_logical(element)

    def _leading_kind(self) -> type[LeadingAbsentNode]:
        is_old = self._context.is_siddhi_5_1
        return InattentiveAbsentNode if is_old else LeadingAbsentNode

    def _door(self) -> Admission:
        state = next(self._states)
        return Admission(state, self._machine, self._context.child(f"state_{state.slot}"))

    def _append(self, node: Node, *streams: ast.StreamInput) -> None:
        self.nodes.append(node)
        for side, stream in enumerate(streams):
            self.leaves.append(Leaf(stream.source, node, side))

    def _add_logical(self, element: ast.LogicalState) -> None:
        left, right = self._side(element.left), self._side(element.right)
        leads = not self.nodes and (left.is_absent or right.is_absent)
        kind = LeadingLogicalNode if leads else LogicalNode
        node = kind(self._machine, len(self.nodes), (left, right), element.is_and)
        self._append(node, element.left.stream, element.right.stream)

    def _side(self, element: ast.StreamState | ast.AbsentState) -> Side:
        is_absent = isinstance(element, ast.AbsentState)
        wait_ms = element.for_ms if isinstance(element, ast.AbsentState) else None
        return Side(self._door(), is_absent, wait_ms)
