"""What an app in columns is made of: units that take the chunks of streams and give rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lockstep.columns.chunks import Chunks
from lockstep.columns.moves import Moves
from lockstep.columns.output import Output


@dataclass(frozen=True, slots=True)
class Timer:
    """A timer that the reference's engine would have pending, of the app clock or the wall clock.

    `sequence` orders timers of one owner that are due at once.
    """

    due_ms: int
    path: str
    sequence: int = 0
    wall: bool = False


@dataclass(slots=True)
class States:
    """A state in the reference's form: by path, with timers. `realms` tells a partition's keys."""

    operators: dict[str, Any]
    timers: list[Timer] = field(default_factory=list)
    _by_path: dict[str, list[Timer]] = field(default_factory=dict)
    _known: int = 0

    def timers_of(self, path: str) -> list[Timer]:
        """The timers of an operator. They are not taken away."""
        for timer in self.timers[self._known :]:
            self._by_path.setdefault(timer.path, []).append(timer)
        self._known = len(self.timers)
        return self._by_path.get(path, [])


@runtime_checkable
class Started(Protocol):
    """A unit with a timer on the wall clock from the start of the app."""

    def start(self, clock_ms: int) -> None:
        """The app starts with the next slice."""

    def wall_due_ms(self) -> int | None:
        """When its timer fires next, or None."""


class Part(Protocol):
    """Something that has state in an app in columns."""

    def store(self, states: States) -> None:
        """Adds its state in the reference's form."""

    def load(self, states: States) -> None:
        """Takes over its state from the reference's form."""


class Unit(Protocol):
    """One query (or several that share state) in columns.

    `place` is its place among the receivers of its streams. `reads` and `writes` are stream names.
    `shows_timers`: timers make rows come out. A unit may have `hears_timers` when that is not the
    same: whether it has to stand in front of others' timers. `is_observed`: observers hear of it
    (of queries outside partitions, as on the reference; of the others where they ask for them).
    """

    @property
    def name(self) -> str:
        """The query's name, or what else tells the unit."""

    @property
    def place(self) -> int:
        """See the class."""

    @property
    def reads(self) -> tuple[str, ...]:
        """See the class."""

    @property
    def writes(self) -> str:
        """See the class."""

    @property
    def shows_timers(self) -> bool:
        """See the class."""

    @property
    def is_observed(self) -> bool:
        """See the class."""

    def run(self, inputs: Mapping[str, Chunks], moves: Moves) -> Output:
        """The query's rows for the chunks of its streams (missing where nothing came)."""

    def settle(self) -> None:
        """The slice is done: what nobody reads any more may be forgotten."""

    def due_ms(self) -> int | None:
        """When the next timer fires, or None."""

    def store(self, states: States) -> None:
        """Adds its state in the reference's form."""

    def load(self, states: States) -> None:
        """Takes over its state from the reference's form."""

    def text_columns(self) -> list[Any]:
        """The arrays of string codes that it keeps."""
