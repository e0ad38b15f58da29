"""Models that say how sure they are, by Bayes' rule. Each event is taken in exactly, without draws,
so settings of the older extension that say how its draws are made have no meaning here. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError

_WIDE: Final = 100.0
"""How far a coefficient may be from 0 before anything was learned, in variances of the noise."""
_VAGUE: Final = 0.01
"""How many halves of events the noise is guessed from before anything was learned."""
_TINY: Final = 1e-12


class Line:
    """y as a sum of features, each by a coefficient, and a constant, with normal noise of unknown
    variance.

    Kept are the means of the features and of y, which stands behind them, and how they vary
    together. All is computed in standard deviations, so that no unit is too large for it.
    """

    def __init__(self, features: int) -> None:
        size = features + 1
        self._count = 0
        self._means = [0.0] * size
        self._products = [[0.0] * size for _ in range(size)]
        self._fit: _Fit | None = None

    def learn(self, features: Sequence[float], target: float) -> float:
        """The square of what it would have been off."""
        told, _ = self.tell(features)
        off = target - (told or 0.0)
        loss = off * off
        if not math.isfinite(loss):
            raise EventError("the numbers are too large for a line")
        row = (*features, target)
        self._count += 1
        before = [value - mean for value, mean in zip(row, self._means, strict=True)]
        self._means = [
            mean + each / self._count for mean, each in zip(self._means, before, strict=True)
        ]
        after = [value - mean for value, mean in zip(row, self._means, strict=True)]
        for products, each in zip(self._products, before, strict=True):
            for place, other in enumerate(after):
                products[place] += each * other
        self._fit = None
        return loss

    def tell(self, features: Sequence[float]) -> tuple[float | None, float | None]:
        """y, and 1 by its standard deviation; nothing as long as nothing was learned, and no second
        one as long as y was always the same."""
        if not self._count:
            return None, None
        if self._fit is None:
            self._fit = _Fit(self._count, self._products)
        fit, mean = self._fit, self._means[-1]
        row = [(features[i] - self._means[i]) / fit.deviations[i] for i in fit.places]
        told = mean + fit.deviations[-1] * _dot(fit.coefficients, row)
        width = math.sqrt(fit.noise * (1 + 1 / self._count + fit.length(row)))
        return told, 1 / (fit.deviations[-1] * width) if fit.deviations[-1] else None

    def snapshot(self) -> PlainState:
        """Its numbers."""
        return (self._count, list(self._means), [list(line) for line in self._products])

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        self._count, means, products = state
        self._means, self._products = list(means), [list(line) for line in products]
        self._fit = None


class _Fit:
    """What follows from how rows vary together. `places`: the features that vary at all."""

    def __init__(self, count: int, products: Sequence[Sequence[float]]) -> None:
        self.deviations = [
            math.sqrt(max(0.0, line[place]) / count) for place, line in enumerate(products)
        ]
        y = len(products) - 1
        self.places = [place for place in range(y) if self.deviations[place]]

        def together(one: int, other: int) -> float:
            scale = self.deviations[one] * self.deviations[other]
            return products[one][other] / scale if scale else 0.0

        matrix = [[together(i, j) + (i == j) / _WIDE for j in self.places] for i in self.places]
        aims = [together(i, y) for i in self.places]
        self._lower = _lower(matrix)
        self.coefficients = self._up(self._down(aims))
        slack = _dot(self.coefficients, self.coefficients) / _WIDE
        left = max(0.0, count - _dot(self.coefficients, aims) - slack)
        self.noise = (_VAGUE + left) / (_VAGUE + count)

    def length(self, row: Sequence[float]) -> float:
        """How far a row is from what was learned."""
        found = self._down(row)
        return _dot(found, found)

    def _down(self, right: Sequence[float]) -> list[float]:
        found: list[float] = []
        for line, aim in zip(self._lower, right, strict=True):
            found.append((aim - _dot(line[: len(found)], found)) / line[len(found)])
        return found

    def _up(self, right: Sequence[float]) -> list[float]:
        found = [0.0] * len(right)
        for place in reversed(range(len(right))):
            below = math.fsum(
                self._lower[k][place] * found[k] for k in range(place + 1, len(right))
            )
            found[place] = (right[place] - below) / self._lower[place][place]
        return found


def _lower(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The lower triangle whose square the matrix is (Cholesky); one that is none by a rounding is
    taken for the nearest that is."""
    found: list[list[float]] = []
    for place, line in enumerate(matrix):
        made: list[float] = []
        for other in range(place):
            rest = line[other] - _dot(made, found[other][: len(made)])
            made.append(rest / found[other][other])
        made.append(math.sqrt(max(_TINY, line[place] - _dot(made, made))))
        found.append(made)
    return found


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
