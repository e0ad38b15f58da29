"""Least squares: the line, or the plane, that is nearest to points. Sums are exact, also when
points leave again, and results are rounded once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

Row = tuple[float, ...]
"""y, and the x of a point."""

_STEPS_MAX: Final = 1_000
_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True)
class Fit:
    """The standard error, and the coefficients, the constant first."""

    error: float
    betas: tuple[float, ...]


class Points:
    """The sums over points that a fit needs: a step takes the same time, however many there are."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._count = 0
        self._products = [[Fraction(0)] * size for _ in range(size)]
        self._right = [Fraction(0)] * size
        self._squares = Fraction(0)

    def change(self, row: Row, by: int) -> None:
        """The point came (1) or left (-1)."""
        y, *rest = map(Fraction, row)
        x = [Fraction(1), *rest]
        self._count += by
        self._squares += by * y * y
        for i in range(self._size):
            self._right[i] += by * x[i] * y
            for j in range(self._size):
                self._products[i][j] += by * x[i] * x[j]

    def fit(self, confidence: float) -> Fit:
        """The fit; a coefficient that is not significant at the confidence is 0.

        All are 0 where the points do not determine it: too few, or all on one x.
        """
        freedom = self._count - self._size
        inverse = _inverse(self._products) if freedom > 0 else None
        if inverse is None:
            return Fit(0.0, (0.0,) * self._size)
        betas = [_dot(line, self._right) for line in inverse]
        spread = (self._squares - _dot(betas, self._right)) / freedom
        kept = (
            float(beta) if _chance(beta, inverse[i][i] * spread, freedom) <= 1 - confidence else 0.0
            for i, beta in enumerate(betas)
        )
        return Fit(math.sqrt(spread), tuple(kept))


def _dot(left: Sequence[Fraction], right: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))


def _inverse(matrix: list[list[Fraction]]) -> list[list[Fraction]] | None:
    """By Gauss and Jordan; None if there is none."""
    size = len(matrix)
    lines = [[*line, *(Fraction(i == j) for j in range(size))] for i, line in enumerate(matrix)]
    for at in range(size):
        pivot = next((i for i in range(at, size) if lines[i][at]), None)
        if pivot is None:
            return None
        lines[at], lines[pivot] = lines[pivot], lines[at]
        lines[at] = [value / lines[at][at] for value in lines[at]]
        for other in range(size):
            factor = lines[other][at]
            if other != at and factor:
                pairs = zip(lines[other], lines[at], strict=True)
                lines[other] = [value - factor * above for value, above in pairs]
    return [line[size:] for line in lines]


def _chance(beta: Fraction, variance: Fraction, freedom: int) -> float:
    """How likely a coefficient so far from 0 is if it is 0: Student's t, both sides."""
    if not variance:
        return 0.0
    return incomplete_beta(freedom / 2, 0.5, float(freedom / (freedom + beta * beta / variance)))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log1p(-x)) / a
    # Lentz's method: each step multiplies by two terms, until they make no difference.
    above, below = 1.0, 1 / _clear(1 - (a + b) * x / (a + 1))
    value = below
    for step in range(1, _STEPS_MAX):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            below = 1 / _clear(1 + term * below)
            above = _clear(1 + term / above)
            value *= above * below
        if abs(above * below - 1) < 1e-15:
            break
    return front * value


def _clear(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
