"""Models that say how sure they are, by Bayes' rule. Each event is taken in exactly, without draws,
so settings of the older extension that say how its draws are made have no meaning here. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError

_WIDE: Final = 100.0
"""How far the coefficients may be from 0 before anything was learned, in variances of the noise."""
_TINY: Final = 1e-12


class Line:
    """y as a sum of features, each by a coefficient, and a constant, with normal noise of unknown
    variance. `_spread` is the coefficients' covariance in variances of the noise, `_shape` and
    `_rate` are those of the inverse gamma distribution that the noise's variance has."""

    def __init__(self, features: int) -> None:
        size = features + 1
        self._means = [0.0] * size
        self._spread = [[_WIDE * (i == j) for j in range(size)] for i in range(size)]
        self._shape = self._rate = 0.01  # as good as unknown
        self._seen = 0

    def learn(self, features: Sequence[float], target: float) -> float:
        """The square of what it would have been off."""
        row = (1.0, *features)
        off = target - self._told(row)
        lifted = self._lifted(row)
        width = 1.0 + _dot(lifted, row)
        self._means = [
            mean + each * off / width for mean, each in zip(self._means, lifted, strict=True)
        ]
        self._spread = [
            [old - one * other / width for old, other in zip(line, lifted, strict=True)]
            for line, one in zip(self._spread, lifted, strict=True)
        ]
        self._shape += 0.5
        self._rate += off * off / (2 * width)
        self._seen += 1
        return off * off

    def tell(self, features: Sequence[float]) -> tuple[float | None, float | None]:
        """y, and 1 by its standard deviation; nothing as long as nothing was learned."""
        if not self._seen:
            return None, None
        row = (1.0, *features)
        width = 1.0 + max(0.0, _dot(self._lifted(row), row))
        return self._told(row), 1.0 / math.sqrt(self._rate / self._shape * width)

    def _told(self, row: Sequence[float]) -> float:
        return _dot(self._means, row)

    def _lifted(self, row: Sequence[float]) -> list[float]:
        return [_dot(line, row) for line in self._spread]

    def snapshot(self) -> PlainState:
        """Its numbers."""
        spread = [list(line) for line in self._spread]
        return (list(self._means), spread, self._shape, self._rate, self._seen)

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        means, spread, self._shape, self._rate, self._seen = state
        self._means, self._spread = list(means), [list(line) for line in spread]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(a * b for a, b in zip(one, other, strict=True))


class _Normal:
    """How many rows came; of each feature the mean, and the sum of the squares around it."""

    def __init__(self, features: int) -> None:
        self.count = 0
        self.means = [0.0] * features
        self.squares = [0.0] * features

    def add(self, features: Sequence[float]) -> None:
        self.count += 1
        for place, value in enumerate(features):
            off = value - self.means[place]
            self.means[place] += off / self.count
            self.squares[place] += off * (value - self.means[place])

    def log_likelihood(self, features: Sequence[float], whole: _Normal) -> float:
        """Each feature by itself. The whole's variance counts as one row more, so that a class with
        one row has a width."""
        found = 0.0
        for place, value in enumerate(features):
            common = whole.squares[place] / whole.count
            variance = (self.squares[place] + common) / (self.count + 1) + _TINY
            off = value - self.means[place]
            found -= 0.5 * (math.log(2 * math.pi * variance) + off * off / variance)
        return found

    def snapshot(self) -> tuple[Any, ...]:
        return (self.count, list(self.means), list(self.squares))

    def restore(self, state: Any) -> None:
        self.count, means, squares = state
        self.means, self.squares = list(means), list(squares)


class Classes:
    """Which of some classes numbers are of: a normal distribution for each class and feature."""

    def __init__(self, features: int, most: int) -> None:
        self._features = features
        self._most = most
        self._whole = _Normal(features)
        self._classes: dict[str, _Normal] = {}

    def learn(self, features: Sequence[float], label: str) -> float:
        """The surprise: minus the logarithm of the label's probability before it was learned."""
        known = self._chances(features)
        surprise = max(0.0, -math.log(max(known.get(label, 1.0 / self._most), 5e-324)))
        if label not in self._classes:
            if len(self._classes) == self._most:
                raise EventError(
                    f"{label!r} is a new class, and the model has {self._most} already"
                )
            self._classes[label] = _Normal(self._features)
        self._classes[label].add(features)
        self._whole.add(features)
        return surprise

    def tell(self, features: Sequence[float]) -> tuple[str | None, float | None]:
        """The class and how probable it is; nothing as long as nothing was learned."""
        chances = self._chances(features)
        if not chances:
            return None, None
        best = max(chances, key=lambda label: chances[label])
        return best, chances[best]

    def _chances(self, features: Sequence[float]) -> dict[str, float]:
        logs = {
            label: math.log(each.count) + each.log_likelihood(features, self._whole)
            for label, each in self._classes.items()
        }
        highest = max(logs.values(), default=0.0)
        shares = {label: math.exp(each - highest) for label, each in logs.items()}
        whole = math.fsum(shares.values())
        return {label: share / whole for label, share in shares.items()}

    def snapshot(self) -> PlainState:
        """Its numbers, by class in order of their first event."""
        classes = [(label, each.snapshot()) for label, each in self._classes.items()]
        return (self._whole.snapshot(), classes)

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        whole, classes = state
        self._whole.restore(whole)
        self._classes = {}
        for label, numbers in classes:
            made = self._classes[label] = _Normal(self._features)
            made.restore(numbers)
