"""What a window declares of itself, and the parameters that windows have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from lockstep.events import NUMERIC_TYPES, AttributeType
from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    Parameter,
    SignatureError,
)

TIME = (AttributeType.INT, AttributeType.LONG)
"""What a time parameter accepts: milliseconds; time literals are longs."""


class Leaves(Enum):
    """How events leave a window."""

    IN_ORDER = "one by one, in the order in which they came"
    IN_ANY_ORDER = "one by one"
    TOGETHER = "together, with a RESET behind them"


class Timers(Enum):
    """Whether a window asks to be woken, and whether it makes a difference when that is."""

    NONE = "it asks for no timers"
    SEEN_WITH_EXPIRED = "they are seen where expired rows are wanted"
    SEEN = "they are always seen"


class Reach(Enum):
    """What tells the events inside a sliding window: to joins in columns, and to who cuts apps."""

    EVENTS = "the first argument is a number of events"
    CLOCK = "the first argument is a time by the clock"
    ATTRIBUTE = "the first argument is the attribute that is the clock, the second a time"


@dataclass(frozen=True)
class WindowExtension(Extension):
    """A window: its parameters, and what rules and executors ask of it.

    What is not declared has the answer that is right for any window. `meaning` and `columns` are
    factories, `package.module:name`, loaded when an app uses them; a window without `meaning`
    registers itself (`lockstep.extending.window`). `examples` read `S (k string, d double, l long,
    i int, f float, t long)`. `emits_changes`: what a join finds inside changes only with what is
    emitted, and what enters stands behind all others. `hosted`: `leaves` holds whatever the
    arguments are. `key_argument`: the place of an argument by which it tells events apart, so that
    each key has its own. `timeout_argument`: the place of an argument without which it asks for no
    timers.
    """

    kind: ExtensionKind = field(default=ExtensionKind.WINDOW, init=False)
    semantics: str = ""
    meaning: str = ""
    columns: str = ""
    examples: tuple[str, ...] = ()
    leaves: Leaves | None = None
    hosted: bool = True
    timers: Timers = Timers.SEEN
    emits_changes: bool = False
    reach: Reach | None = None
    key_argument: int | None = None
    timeout_argument: int | None = None

    def called_with(self, arguments: int) -> WindowExtension:
        """What it declares where it is called with so many arguments."""
        if self.timeout_argument is None or arguments > self.timeout_argument:
            return self
        return replace(self, timers=Timers.NONE)


def constant(
    name: str, *types: AttributeType, optional: bool = False, positive: bool = False
) -> Parameter:
    """A parameter that takes literals only."""
    return Parameter(name, types, constant=True, optional=optional, positive=positive)


def attribute(name: str, *types: AttributeType) -> Parameter:
    """A parameter that takes a plain attribute only."""
    return Parameter(name, types, attribute=True)


def not_negative(arguments: Sequence[Argument]) -> None:
    """Refuses literals below 0."""
    for argument in arguments:
        if argument.is_constant and argument.type in NUMERIC_TYPES and argument.value < 0:
            raise SignatureError(f"{argument.value} is negative", "sizes and times count from 0")


def sized(*parameters: Parameter) -> Overload:
    """An overload whose numbers are sizes and times."""
    return Overload(parameters, check=not_negative)


SIZE = constant("n", AttributeType.INT)
SPAN = constant("t", *TIME)
PERIOD = constant("t", *TIME, positive=True)
STREAM_CURRENT = constant("stream.current.event", AttributeType.BOOL, optional=True)
