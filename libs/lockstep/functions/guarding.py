"""What extensions make, so that it fails only with an error of the event that brought it.

Code of others raises anything: an exception of a class that no junction contains would stop the
app, and end a worker whose neighbours have done nothing. What it gives back is checked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any, Final

from lockstep.events import AttributeType, LockstepError, describe
from lockstep.functions.returned import returned
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.operators.limits import LimitError
from lockstep.plan import java
from lockstep.siddhiql.catalogue import Argument, Extension, ExtensionKind, SignatureError
from lockstep.siddhiql.catalogue.core import default_catalogue
from lockstep.siddhiql.catalogue.installed import asked
from lockstep.siddhiql.catalogue.matching import match

PASSING: Final = (LockstepError, LimitError, MemoryError)
"""What others than the extension mean something by."""

FAILURES: Final = (Exception, SystemExit)
"""What code of others ends with: whoever writes `sys.exit()` there does not mean the processor."""

_HINT: Final = "the mistake is in the extension, not in the app: mend it wherever apps run"
_PLAIN_HINT: Final = "let snapshot() give plain values: EXTENDING.md shows them"
_OLDER_HINT: Final = (
    "let restore() take what snapshot() of earlier versions gave: EXTENDING.md says how"
)
_MOST: Final = 1_024
"""Calls whose types are remembered."""

_QUICK: Final[dict[AttributeType | None, tuple[Any, float, float]]] = {
    AttributeType.INT: (int, java.INT_MIN, java.INT_MAX),
    AttributeType.LONG: (int, java.LONG_MIN, java.LONG_MAX),
    AttributeType.DOUBLE: (float, float("-inf"), float("inf")),
    AttributeType.BOOL: (bool, False, True),
}
"""Classes and bounds of values that are right as they are; others are looked at more closely."""
_NEVER: Final[tuple[Any, float, float]] = (type(None), 1, 0)


def full_name(key: tuple[str, str]) -> str:
    """As apps write it, of (namespace or "", name)."""
    return ":".join(part for part in key if part)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose code it is."""

    key: tuple[str, str]
    module: str

    def __str__(self) -> str:
        return f"{full_name(self.key)}, of the extension module {self.module},"

    def refusal(self, what: str) -> EventError:
        """An event that this code cannot process: `failed: …`, `returned …`."""
        return EventError(f"{self} {what}", hint=_HINT)

    def failed(self, error: BaseException) -> EventError | LockstepError:
        """What it raised, as an error of the event. What it refuses on purpose stays as it is."""
        if isinstance(error, LockstepError):
            return error
        return self.refusal(f"failed: {describe(error)}")

    def is_own(self, error: Exception) -> bool:
        """Whether it comes of this code, and not of what it asks of Lockstep."""
        ours = type(error).__module__.partition(".")[0] == "lockstep"
        return not ours and not isinstance(error, PASSING)

    def checker(self, type_: AttributeType | None) -> Callable[[Any], Any]:
        """The function from results to values of the type, which raises EventError; None: of one
        that nobody says."""
        kind, low, high = _QUICK.get(type_, _NEVER)
        what = full_name(self.key)

        def checked(result: Any) -> Any:
            # Called for each event: most results need no second look.
            if result is None or (type(result) is kind and low <= result <= high):
                return result
            return result if type_ is None else returned(type_, result, what, self.refusal)

        return checked

    def state_of(self, made: Any) -> bytes:
        """What a snapshot would hold of it. EventError for what none can hold: an app with that
        would begin anew at every restart."""
        try:
            return bytes(_states().encode(self.kept(made.snapshot)()))
        except (SnapshotError, UnicodeEncodeError, RecursionError) as error:
            why = error.message if isinstance(error, SnapshotError) else describe(error)
            message = f"{self} has a state that cannot be kept: {why}"
            raise EventError(message, hint=_PLAIN_HINT) from error

    def kept(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method that gives a state: what it raises is a SnapshotError."""
        return self._at_state(method, "failed at its state", _PLAIN_HINT)

    def restored(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method that takes a state over: likewise. It may be one of an earlier version."""
        return self._at_state(method, "failed at its state, as it was kept before", _OLDER_HINT)

    def _at_state(self, method: Callable[..., Any], what: str, hint: str) -> Callable[..., Any]:
        def at_state(*values: Any) -> Any:
            try:
                return method(*values)
            except PASSING:
                raise
            except FAILURES as error:
                raise SnapshotError(f"{self} {what}: {describe(error)}", hint=hint) from error

        return at_state


def guarded_call(
    made: Callable[..., Any], owner: Owner, given: Sequence[Any], again: Callable[[], Any]
) -> Any:
    """A function."""
    type_ = result_of(ExtensionKind.FUNCTION, owner.key, given[0])
    kind, low, high = _QUICK.get(type_, _NEVER)
    checked = owner.checker(type_)

    def call(*values: Any) -> Any:
        try:
            result = made(*values)
        except PASSING:
            raise
        except FAILURES as error:
            raise owner.failed(error) from error
        # As in `checked`: a call more for each event would cost as much as the guard does.
        if type(result) is kind and low <= result <= high:
            return result
        return checked(result)

    return call


def guarded_in_place(
    made: Any, owner: Owner, given: Sequence[Any], again: Callable[[], Any]
) -> Any:
    """A link of a chain, such as a window. It stays the object that it is: it may have registered
    itself, and timers are its own."""
    return guard_in_place(made, owner)


def guard_in_place(made: Any, owner: Owner, checked: _Checked | None = None) -> Any:
    """The same; `checked` makes what it lets out right. EventError for what cannot be guarded."""
    if callable(getattr(made, "snapshot", None)):
        owner.state_of(made)
    site = _Site()
    try:
        for name in ("process", "on_timer", "start", "content"):
            method = getattr(made, name, None)
            if callable(method):
                setattr(made, name, _guarded_method(made, method, owner, site, checked))
        for name, guard in (("snapshot", owner.kept), ("restore", owner.restored)):
            method = getattr(made, name, None)
            if callable(method):
                setattr(made, name, guard(method))
    except AttributeError as error:
        message = f"{owner} is of type {type(made).__name__}, whose methods cannot be guarded"
        raise EventError(message, hint="leave __slots__ out") from error
    return made


_Checked = Callable[[list[Any]], list[Any]]


class _Site:
    """What passes through a link from behind it, and is none of its mistakes."""

    __slots__ = ("passing",)

    def __init__(self) -> None:
        self.passing: BaseException | None = None


class _Emit:
    """Where a link lets out to."""

    __slots__ = ("_checked", "_emit", "_site")

    def __init__(
        self, emit: Callable[[list[Any]], None], site: _Site, checked: _Checked | None
    ) -> None:
        self._emit = emit
        self._site = site
        self._checked = checked

    def __call__(self, chunk: list[Any]) -> None:
        if self._checked is not None:
            chunk = self._checked(chunk)
        try:
            self._emit(chunk)
        except BaseException as error:
            self._site.passing = error
            raise


def _guarded_method(
    made: Any, method: Callable[..., Any], owner: Owner, site: _Site, checked: _Checked | None
) -> Callable[..., Any]:
    def guarded_method(*values: Any) -> Any:
        emit = getattr(made, "emit", None)
        if emit is not None and not isinstance(emit, _Emit):  # its owner has connected it
            made.emit = _Emit(emit, site, checked)
        try:
            return method(*values)
        except PASSING:
            raise
        except FAILURES as error:
            if error is site.passing:
                raise
            raise owner.failed(error) from error
        finally:
            site.passing = None

    return guarded_method


def result_of(
    kind: ExtensionKind, key: tuple[str, str], arguments: Sequence[Argument]
) -> AttributeType | None:
    """The type that a checked call of an extension has; None where nobody says."""
    extension = _declared(kind, key)
    return None if extension is None else _result_of(extension, tuple(arguments))


@lru_cache(_MOST)
def _result_of(extension: Extension, arguments: tuple[Argument, ...]) -> AttributeType | None:
    # An aggregator is made for each group.
    try:
        return match(extension, arguments)[1]
    except SignatureError:
        return None


def added_by(
    key: tuple[str, str], arguments: Sequence[Argument]
) -> Sequence[tuple[str, AttributeType]] | None:
    """What a checked call of a stream function appends to each event; None where nobody says."""
    extension = _declared(ExtensionKind.STREAM_FUNCTION, key)
    if extension is None:
        return None
    try:
        adds = match(extension, arguments)[0].adds
        attributes = () if adds is None else asked(adds, arguments)
    except SignatureError:
        return None
    return [(each.name, each.type) for each in attributes]


def _declared(kind: ExtensionKind, key: tuple[str, str]) -> Extension | None:
    return default_catalogue().find(kind, key[0] or None, key[1])


def state_in(kept: bytes) -> Any:
    """What `Owner.state_of` has written."""
    return _states().decode(kept)


def _states() -> ModuleType:
    """How states are written, once there is an extension: short commands load no Arrow."""
    from lockstep.operators import state

    return state
