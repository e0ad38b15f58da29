"""Links of others in a chain: what they fail of is told from what passes through them."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.functions.guarding import Owner, guard_in_place
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.operators.limits import LimitError

OWNER = Owner(("my", "link"), "my_extension")
CHUNK = [StreamEvent(1, (1,))]


class Link:
    """Passes everything on, unless it fails first."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.emit: Any = None
        self.error = error

    def process(self, chunk: list[StreamEvent]) -> None:
        if self.error is not None:
            raise self.error
        self.emit(chunk)

    def on_timer(self, due_ms: int) -> None:
        self.process(CHUNK)

    def snapshot(self) -> Any:
        if self.error is not None:
            raise self.error
        return 1

    def restore(self, state: Any) -> None:
        if self.error is not None:
            raise self.error


class Slotted:
    """Has no room for what guards it."""

    __slots__ = ("emit",)

    def process(self, chunk: list[StreamEvent]) -> None:
        """Nothing."""


def guarded(error: BaseException | None = None) -> Any:
    """A link that fails from now on."""
    link = guard_in_place(Link(), OWNER)
    link.error = error
    return link


@pytest.mark.parametrize("method", ["process", "on_timer"])
@pytest.mark.parametrize("error", [RuntimeError("no"), OSError("no"), SystemExit(3)])
def test_its_own_failures_are_errors_of_the_event(method: str, error: BaseException) -> None:
    """With its name."""
    says = "my:link, of the extension module my_extension, failed: "
    with pytest.raises(EventError, match=says + type(error).__name__):
        getattr(guarded(error), method)(CHUNK)


@pytest.mark.parametrize("error", [RuntimeError("behind"), ValueError("behind"), LimitError("no")])
def test_what_passes_through_stays_as_it_is(error: Exception) -> None:
    """Also the second time, and in a link that feeds itself."""
    link = guarded()
    deep = 0

    def behind(chunk: list[StreamEvent]) -> None:
        nonlocal deep
        deep += 1
        if deep % 3:
            link.process(chunk)
        raise error

    link.emit = behind
    for _ in range(2):
        with pytest.raises(type(error)) as told:
            link.process(CHUNK)
        assert told.value is error


@pytest.mark.parametrize("error", [LimitError("no"), MemoryError("no"), EventError("mine")])
def test_what_others_mean_something_by_stays_as_it_is(error: Exception) -> None:
    """A limit undoes the whole event; a refusal on purpose says all itself."""
    with pytest.raises(type(error)) as told:
        guarded(error).process(CHUNK)
    assert told.value is error


def test_a_state_that_cannot_be_said() -> None:
    """Names it, whoever takes the snapshot."""
    link = guarded(RuntimeError("no"))
    for ask in (link.snapshot, lambda: link.restore(1)):
        with pytest.raises(SnapshotError, match=r"my:link, of .* failed at its state"):
            ask()


def test_a_state_of_before_that_is_not_taken_asks_for_what_would_help() -> None:
    """Plain values it has given; a new version of it does not take them."""
    link = guarded(KeyError("seen"))
    with pytest.raises(SnapshotError, match="as it was kept before: KeyError: 'seen'") as told:
        link.restore(1)
    assert told.value.hint is not None
    assert "let restore() take what snapshot() of earlier versions gave" in told.value.hint
    with pytest.raises(SnapshotError) as told:
        link.snapshot()
    assert told.value.hint is not None
    assert "let snapshot() give plain values" in told.value.hint


def test_a_link_without_room_is_refused() -> None:
    """It would run without a guard."""
    with pytest.raises(EventError, match="cannot be guarded") as told:
        guard_in_place(Slotted(), OWNER)
    assert told.value.hint == "leave __slots__ out"
