"""Which slot holds which state: level over all, and an app in no more slots than it may have.

Pure. A slot runs one task at a time, so an app that has its states in two slots runs in two tasks
at most, however many states it has and however much comes in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """An app, and in how many slots its states may be; None: in all."""

    app: str
    most: int | None = None


def tasks_max_of(asked: int | None, allowed: int) -> int | None:
    """In how many tasks at a time an app may run that asks for some (None: for all), where so many
    are allowed (0: all)."""
    if allowed == 0:
        return asked
    return allowed if asked is None else min(asked, allowed)


class Slots:
    """Slots 0 to `count` - 1, and how many states of which app are in each."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._states: Counter[int] = Counter()
        self._of_app: defaultdict[str, Counter[int]] = defaultdict(Counter)

    def most(self, use: Use) -> int:
        """In how many slots the app's states can be."""
        return self._count if use.most is None else min(use.most, self._count)

    def take(self, use: Use, avoid: Collection[int] = ()) -> int:
        """A slot for one more state of the app: the one with the fewest states, and none of `avoid`
        if there is another.

        States that came under a higher limit stay where they are. New ones then go to those slots
        that have most of the app's states.
        """
        may = self._may(use)
        slot = min(
            [slot for slot in may if slot not in avoid] or may,
            key=lambda each: (self._states[each], each),
        )
        self._states[slot] += 1
        self._of_app[use.app][slot] += 1
        return slot

    def give_back(self, use: Use, slot: int) -> None:
        """A state that took the slot is gone."""
        self._states[slot] -= 1
        own = self._of_app[use.app]
        own[slot] -= 1
        if own[slot] == 0:
            del own[slot]
        if not own:
            del self._of_app[use.app]

    def _may(self, use: Use) -> list[int]:
        own = self._of_app.get(use.app, Counter())
        most = self.most(use)
        if len(own) < most:
            return list(range(self._count))
        return sorted(own, key=lambda slot: (-own[slot], slot))[:most]
