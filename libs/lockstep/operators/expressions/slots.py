"""Where attribute and event references find their values in each event shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.operators.expressions.code import OBJECT, Code
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import OUTPUT_SLOT, Shape

if TYPE_CHECKING:
    from lockstep.operators.expressions.writer import Writer


def pick_event(slot: Any, offset: int, from_last: bool) -> Any:
    """The event at an index of a collecting slot, or None; a slot that holds one event is a list of
    it.
    """
    if slot is None:
        return None
    if not isinstance(slot, list):
        slot = [slot]
    if from_last:
        offset = len(slot) - 1 - offset
    return slot[offset] if 0 <= offset < len(slot) else None


def last_event(slot: Any) -> Any:
    """The slot's event, or the last one of a collecting slot, or None."""
    if isinstance(slot, list):
        return slot[-1] if slot else None
    return slot


def listed(slot: Any, attribute: int) -> list[Any]:
    """The values of an attribute over a collecting slot."""
    if slot is None:
        return []
    return [event.data[attribute] for event in slot]


def _event_source(writer: Writer, slot: int, is_list: bool, index: ast.EventIndex | None) -> str:
    """A local that holds the referenced event or None."""
    shape = writer.scope.shape
    if shape is Shape.STREAM:
        return "e"
    if shape is Shape.JOINED:
        return writer.bind("e.left" if slot == 0 else "e.right")
    held = f"e.slots[{slot}]"
    own = slot == writer.scope.preferred
    if index is None:
        if not (own or is_list):
            return writer.bind(held)
        writer.namespace["last_event"] = last_event
        return writer.bind(f"last_event({held})")
    # The candidate stands last in its own slot while its filter runs.
    offset = index.offset + 1 if own and index.from_last else index.offset
    writer.namespace["pick_event"] = pick_event
    return writer.bind(f"pick_event({held}, {offset}, {index.from_last})")


def bind_attribute(writer: Writer, variable: ast.Variable) -> Code:
    """The value of an attribute reference as a local."""
    ref = writer.scope.resolve(variable)
    if ref.slot == OUTPUT_SLOT:
        return Code(writer.bind(f"o[{ref.attribute}]"), ref.type, atom=True)
    if writer.scope.shape is Shape.STREAM:
        data = writer.bind("e.data")
        return Code(writer.bind(f"{data}[{ref.attribute}]"), ref.type, atom=True)
    own = writer.scope.shape is Shape.MATCHED and ref.slot == writer.scope.preferred
    if ref.is_list and ref.index is None and not own:
        writer.namespace["listed"] = listed
        value = writer.bind(f"listed(e.slots[{ref.slot}], {ref.attribute})")
        return Code(value, OBJECT, nullable=False, atom=True)
    event = _event_source(writer, ref.slot, ref.is_list, ref.index)
    value = writer.bind(f"None if {event} is None else {event}.data[{ref.attribute}]")
    return Code(value, ref.type, atom=True)


def bind_event(writer: Writer, reference: ast.EventReference) -> str:
    """The referenced event (or None) as a local."""
    ref = writer.scope.resolve_event(reference)
    return _event_source(writer, ref.slot, ref.is_list, ref.index)
