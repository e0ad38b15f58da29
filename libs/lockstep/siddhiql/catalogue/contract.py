"""What the checker knows of functions, aggregators, windows, stream functions, sources,
sinks, stores and mappers: signatures only.

Implementations live in the concepts' folders and in the services under the same (namespace, name).
A signature is a list of overloads; an overload is a list of parameters and a result. Sources,
sinks, stores and mappers have one overload, and their parameters are options, given by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from lockstep.events import Attribute, AttributeType
from lockstep.siddhiql.catalogue.promises import Promise


class ExtensionKind(Enum):
    """Where an extension may stand."""

    FUNCTION = "function"
    AGGREGATOR = "aggregator"
    WINDOW = "window"
    STREAM_FUNCTION = "stream function"
    SOURCE = "source"
    SINK = "sink"
    STORE = "store"
    SOURCE_MAPPER = "source mapper"
    SINK_MAPPER = "sink mapper"


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument as the checker sees it: its type, and its value or attribute if it is one."""

    type: AttributeType
    is_constant: bool = False
    value: Any = None
    is_attribute: bool = False
    attribute_name: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: accepted types (empty = any), and what kind of argument it wants.

    `constant`: only a literal. `attribute`: only a plain attribute reference. `dynamic` default.
    `repeat`: the last parameter may occur any number of times (`min_repeat` at least).
    `same_as_first`: must have the type of the first argument. `positive`: a literal above 0.
    `condition`: the text of a condition on the events of a window.

    As an option: a text unless `types` says int, long or bool; `constant`: without `{{attribute}}`;
    `choices`: one of these, in any case. Other fields but `optional` and `positive` mean nothing.
    """

    name: str
    types: tuple[AttributeType, ...] = ()
    constant: bool = False
    attribute: bool = False
    optional: bool = False
    repeat: bool = False
    min_repeat: int = 0
    same_as_first: bool = False
    positive: bool = False
    condition: bool = False
    choices: tuple[str, ...] = ()


Result = AttributeType | Callable[[Sequence[Argument]], AttributeType]


class SignatureError(Exception):
    """Arguments that fit no overload; the checker adds the position."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Overload:
    """Parameters in order and the result type (for stream functions `adds`, for windows neither).

    `check` may refuse further (raise SignatureError).
    """

    parameters: tuple[Parameter, ...]
    result: Result | None = None
    adds: Callable[[Sequence[Argument]], tuple[Attribute, ...]] | None = None
    check: Callable[[Sequence[Argument]], None] | None = None


@dataclass(frozen=True)
class Extension:
    """One named thing of the catalogue. `remembers`: what a function gives hangs on its calls
    before, so it has to see all events of its query in one place. `promise`: how often a source or
    sink delivers; a store delivers as the sink of its type. `formerly`: its names in Siddhi 1 to 4
    where they differ in more than case, in small letters."""

    kind: ExtensionKind
    name: str
    overloads: tuple[Overload, ...]
    namespace: str | None = None
    doc: str = ""
    remembers: bool = False
    promise: Promise | None = None
    formerly: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """The name as an app writes it: with its namespace, if it has one."""
        return f"{self.namespace}:{self.name}" if self.namespace else self.name
