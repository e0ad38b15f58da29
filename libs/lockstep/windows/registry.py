"""How a window's meaning is found and made, and what its factory learns of the call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import Any, Final, TypeVar

from lockstep.events import AttributeType, StreamSchema
from lockstep.functions.guarding import guarded_in_place
from lockstep.functions.plugins import Promised, guarded
from lockstep.operators.contract import Context, Window
from lockstep.operators.errors import EventError
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.catalogue.windows import WindowExtension
from lockstep.siddhiql.scope import Scope

_Factory = TypeVar("_Factory", bound=Callable[..., Window])

WINDOWS: dict[tuple[str, str], Callable[[WindowCall], Window]] = {}
"""Factories of windows that declare no `meaning`, by (namespace or "", name)."""

_OWN: Final = "lockstep.windows."
_PROMISED: Final = Promised(
    ("process", "snapshot", "restore"),
    "it takes a WindowCall, and has what a WindowBase has",
    guarded_in_place,
)


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
    """Registers a factory (mostly the class itself) that takes a WindowCall, of a window that
    declares no `meaning`."""

    def register(factory: _Factory) -> _Factory:
        WINDOWS[(namespace, name)] = factory
        return factory

    return register


def factory_of(declared: WindowExtension) -> Callable[[WindowCall], Window]:
    """What makes a window's meaning."""
    made: Callable[[WindowCall], Window]
    if declared.meaning.startswith(_OWN):
        made = resolve_name(declared.meaning)
        return made
    key = (declared.namespace or "", declared.name)
    if declared.meaning:
        module = declared.meaning.partition(":")[0]
        made = guarded(partial(_by_meaning, declared.meaning), key, module, _PROMISED)
        return made
    factory = WINDOWS.get(key)
    if factory is None:
        raise EventError(f"there is no window {declared.name!r}")
    made = guarded(factory, key, factory.__module__, _PROMISED)
    return made


def _by_meaning(meaning: str, call: WindowCall) -> Window:
    """A window of an extension. It is looked up here, so that a wrong name is told as its fault."""
    made: Window = resolve_name(meaning)(call)
    return made


def build_window(
    call: ast.FunctionCall, scope: Scope, schema: StreamSchema, context: Context
) -> Window:
    """The window of the call, registered for snapshots under the context's path."""
    built = factory_of(declared_window(call))(WindowCall(call, scope, schema, context))
    context.register("window", built)
    return built
