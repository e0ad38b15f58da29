"""What a pattern's expressions read: an event of a slot, or one of those that a counted state has
collected. Frames know each by a number; that of a slot alone is the slot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import OUTPUT_SLOT, AttributeRef, Scope, SlotRef

SLOTS_MAX = 60
"""How many slots can be told apart (a bit of a word for each)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """`slots[slot]`, or with an offset `e1[2]`, and from the last one `e1[last-1]`."""

    slot: int
    offset: int | None = None
    from_last: bool = False

    @classmethod
    def of(cls, ref: AttributeRef | SlotRef) -> Bound:
        """What a resolved reference reads."""
        if ref.index is None:
            return cls(ref.slot)
        return cls(ref.slot, ref.index.offset, ref.index.from_last)

    @property
    def number(self) -> int:
        """What frames call it."""
        if self.offset is None or self.slot == OUTPUT_SLOT:
            return self.slot
        return self.slot + SLOTS_MAX * (1 + 2 * self.offset + self.from_last)

    @property
    def place(self) -> tuple[int, int, int]:
        """(slot, offset, whether that counts from the last)."""
        if self.offset is None:
            return self.slot, 0, 1
        return self.slot, self.offset, int(self.from_last)


def number_of(ref: AttributeRef | SlotRef) -> int:
    """What frames call what a resolved reference reads."""
    return Bound.of(ref).number


def bounds_in(expression: ast.Expression | ast.EventReference, scope: Scope) -> Iterator[Bound]:
    """What an expression reads."""
    match expression:
        case ast.Variable():
            yield Bound.of(scope.resolve(expression))
        case ast.EventReference():
            yield Bound.of(scope.resolve_event(expression))
        case ast.FunctionCall(arguments=arguments):
            for argument in arguments:
                yield from bounds_in(argument, scope)
        case ast.Not(operand=operand) | ast.IsNull(operand=operand):
            yield from bounds_in(operand, scope)
        case (
            ast.Arithmetic(left=left, right=right)
            | ast.Compare(left=left, right=right)
            | ast.And(left=left, right=right)
            | ast.Or(left=left, right=right)
        ):
            yield from bounds_in(left, scope)
            yield from bounds_in(right, scope)
