"""A perceptron: a weight for each feature, moved by each event that it judges wrongly. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockstep.operators.contract import PlainState

THRESHOLD = 0.5
"""Above it the answer is true."""


class Perceptron:
    """Weights, all 0 in the beginning. `rate`: how far an event moves them."""

    def __init__(self, features: int, rate: float = 0.1) -> None:
        self._rate = rate
        self.weights = [0.0] * features

    def score(self, features: Sequence[float]) -> float:
        """The sum of all features by their weights."""
        return math.fsum(w * x for w, x in zip(self.weights, features, strict=True))

    def learn(self, features: Sequence[float], label: bool) -> None:
        """Towards the label, where the answer is another one."""
        if (self.score(features) > THRESHOLD) is label:
            return
        step = self._rate if label else -self._rate
        self.weights = [w + step * x for w, x in zip(self.weights, features, strict=True)]

    def snapshot(self) -> PlainState:
        """The weights."""
        return list(self.weights)

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        self.weights = list(state)
