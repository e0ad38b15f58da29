"""weightedAvg(value, weight): the mean in which each value counts by its weight.

An event whose value or weight is null is ignored. Null when the weights add up to nothing.
"""

from __future__ import annotations

from lockstep.aggregators.contract import Fields
from lockstep.siddhiql.catalogue import Parameter
from lockstep.siddhiql.catalogue.signatures import DOUBLE, NUMBER, aggregator, gives


class WeightedAverage(Fields):
    """Sums of integers are exact; what rounding left of others goes with the last event."""

    fields = (("weighted", 0), ("weight", 0), ("count", 0))
    __slots__ = ("count", "weight", "weighted")
    weighted: float
    weight: float

    def add(self, value: float | None, weight: float | None) -> None:
        if value is not None and weight is not None:
            self.weighted += value * weight
            self.weight += weight
            self.count += 1

    def remove(self, value: float | None, weight: float | None) -> None:
        if value is not None and weight is not None:
            self.weighted -= value * weight
            self.weight -= weight
            self.count -= 1
            if self.count == 0:
                self.reset()

    def value(self) -> float | None:
        return self.weighted / self.weight if self.weight else None


EXTENSIONS = (
    aggregator(
        "weightedAvg",
        gives(DOUBLE, Parameter("value", NUMBER), Parameter("weight", NUMBER)),
        doc="mean in which each value counts by its weight",
        make=lambda arguments: WeightedAverage(),
    ),
)
