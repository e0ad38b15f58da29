"""What a limiter is to its query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.columns.moves import Moves
from lockstep.columns.output import Output
from lockstep.events import AttributeType
from lockstep.rates.rows import Keys, Limited


@dataclass(frozen=True, slots=True)
class Rated:
    """The query whose rows are limited: its name, place among the receivers, and their types."""

    query: str
    place: int
    types: Sequence[AttributeType]


class Limiter(Protocol):
    """Lets rows out at a rate. `keys` are those of its groups; `carried`: how many attributes of
    each row's event it wants behind the row's own."""

    carried: int

    @property
    def keys(self) -> Keys:
        """See the class."""

    @property
    def goes_by_wall(self) -> bool:
        """Whether it has a timer on the wall clock, from the start of the app."""

    def start(self, clock_ms: int) -> None:
        """The app starts."""

    def run(self, rows: Limited, moves: Moves) -> Output:
        """What leaves in a slice of what the selector made."""

    def due_ms(self) -> int | None:
        """When its timer fires next."""

    def store(self, realm: int) -> Any:
        """The state of a partition instance (outside 0) as the reference's limiter has it."""

    def load(self, realm: int, state: Any, due_ms: int | None) -> None:
        """Takes over what `store` gave, and when its timer is due."""
