"""The head of a generated function: constants, temporaries, and the locals where attribute and
event references find their values in each event shape.
"""

from __future__ import annotations

from typing import Any

from lockstep.expressions.code import HELPERS, OBJECT, Code
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import OUTPUT_SLOT, Scope, Shape


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


class Locals:
    """Collects the statements and constants of one generated function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.namespace: dict[str, Any] = dict(HELPERS)
        self._bound: dict[str, str] = {}
        self.statements: list[str] = []
        self._temps = 0

    def function_source(self, parameters: str, result: str) -> str:
        """The whole function as text."""
        lines = [f"    {line}" for line in self.statements]
        return "\n".join([f"def function({parameters}):", *lines, f"    return {result}", ""])

    def temp(self) -> str:
        """A fresh local name."""
        self._temps += 1
        return f"t{self._temps}"

    def bind(self, source: str) -> str:
        """The local that holds `source`, evaluated once at the function's head."""
        name = self._bound.get(source)
        if name is None:
            name = self._bound[source] = f"a{len(self._bound)}"
            self.statements.append(f"{name} = {source}")
        return name

    def constant(self, value: Any) -> str:
        """The global name of a Python object."""
        name = f"c{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def _event_source(self, slot: int, is_list: bool, index: ast.EventIndex | None) -> str:
        """A local that holds the referenced event or None."""
        shape = self.scope.shape
        if shape is Shape.STREAM:
            return "e"
        if shape is Shape.JOINED:
            return self.bind("e.left" if slot == 0 else "e.right")
        held = f"e.slots[{slot}]"
        own = slot == self.scope.preferred
        if index is None:
            if not (own or is_list):
                return self.bind(held)
            self.namespace["last_event"] = last_event
            return self.bind(f"last_event({held})")
        # The candidate stands last in its own slot while its filter runs.
        offset = index.offset + 1 if own and index.from_last else index.offset
        self.namespace["pick_event"] = pick_event
        return self.bind(f"pick_event({held}, {offset}, {index.from_last})")

    def bind_attribute(self, variable: ast.Variable) -> Code:
        """The value of an attribute reference as a local."""
        ref = self.scope.resolve(variable)
        if ref.slot == OUTPUT_SLOT:
            return Code(self.bind(f"o[{ref.attribute}]"), ref.type, atom=True)
        if self.scope.shape is Shape.STREAM:
            data = self.bind("e.data")
            return Code(self.bind(f"{data}[{ref.attribute}]"), ref.type, atom=True)
        own = self.scope.shape is Shape.MATCHED and ref.slot == self.scope.preferred
        if ref.is_list and ref.index is None and not own:
            self.namespace["listed"] = listed
            value = self.bind(f"listed(e.slots[{ref.slot}], {ref.attribute})")
            return Code(value, OBJECT, nullable=False, atom=True)
        event = self._event_source(ref.slot, ref.is_list, ref.index)
        value = self.bind(f"None if {event} is None else {event}.data[{ref.attribute}]")
        return Code(value, ref.type, atom=True)

    def bind_event(self, reference: ast.EventReference) -> str:
        """The referenced event (or None) as a local."""
        ref = self.scope.resolve_event(reference)
        return self._event_source(ref.slot, ref.is_list, ref.index)
