"""The windows by (namespace, name), and what a window's factory learns of its call."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from lockstep.events import AttributeType, StreamSchema
from lockstep.operators.contract import Context, Window
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.scope import Scope

_Factory = TypeVar("_Factory", bound=Callable[..., Window])

WINDOWS: dict[tuple[str, str], Callable[[WindowCall], Window]] = {}
"""Factories by (namespace or "", name)."""


class WindowCall:
    """The arguments of a window: constants, attributes or expressions of the windowed stream."""

    def __init__(
        self, call: ast.FunctionCall, scope: Scope, schema: StreamSchema, context: Context
    ) -> None:
        self.name = call.name
        self.arguments = call.arguments
        self.scope = scope
        self.schema = schema
        self.context = context

    def __len__(self) -> int:
        return len(self.arguments)

    def is_constant(self, index: int) -> bool:
        """Whether the argument exists and is a literal."""
        return index < len(self.arguments) and isinstance(self.arguments[index], ast.Constant)

    def constant(self, index: int, default: Any = None) -> Any:
        """The literal's value, or the default when there is no such argument."""
        if index >= len(self.arguments):
            return default
        argument = self.arguments[index]
        if not isinstance(argument, ast.Constant):
            raise EventError(f"argument {index + 1} of {self.name} must be a constant")
        return argument.value

    def constant_type(self, index: int) -> AttributeType | None:
        """The literal's type, or None when the argument is none."""
        argument = self.arguments[index] if index < len(self.arguments) else None
        return argument.type if isinstance(argument, ast.Constant) else None

    def attribute(self, index: int) -> int:
        """The position of the attribute that the argument names."""
        argument = self.arguments[index]
        assert isinstance(argument, ast.Variable)
        return self.scope.resolve(argument).attribute

    def is_attribute(self, index: int) -> bool:
        """Whether the argument exists and is a plain attribute."""
        return index < len(self.arguments) and isinstance(self.arguments[index], ast.Variable)

    def value(self, index: int) -> Callable[[Any], Any]:
        """The argument as a function of the event."""
        return self.context.compile(self.arguments[index], self.scope)


def window(name: str, namespace: str = "") -> Callable[[_Factory], _Factory]:
    """Registers a factory (mostly the class itself) that takes a WindowCall."""

    def register(factory: _Factory) -> _Factory:
        WINDOWS[(namespace, name)] = factory
        return factory

    return register


@cache
def _load_all() -> None:
    for folder in Path(__file__).parent.iterdir():
        for each in folder.glob("*.py"):
            if each.stem not in ("__init__", "columns", "kernel"):
                importlib.import_module(f"{__package__}.{folder.name}.{each.stem}")


def build_window(
    call: ast.FunctionCall, scope: Scope, schema: StreamSchema, context: Context
) -> Window:
    """The window of the call, registered for snapshots under the context's path."""
    _load_all()
    factory = WINDOWS.get((call.namespace or "", call.name))
    if factory is None:
        raise EventError(f"there is no window {call.name!r}")
    built = factory(WindowCall(call, scope, schema, context))
    context.register("window", built)
    return built
