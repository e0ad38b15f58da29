"""Which units of deployed apps somebody leads, in the metrics of the coordinator that leads. An app
without any replica has no other series that could say that nothing comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.control import place_of
from lockstep.store import Deployment
from lockstep.telemetry import Level, Metrics
from lockstep_services.coordinator.board import Facts
from lockstep_services.coordinator.levels import Levels

LED: Final = "lockstep_coordinator_unit_led"


class LedUnits:
    """A round notes what it sees; gauges are set when somebody asks for the page."""

    def __init__(self, levels: Levels, metrics: Metrics) -> None:
        self._levels = levels
        self._metrics = metrics
        self._seen: Mapping[str, bool] = {}
        self._shown: Mapping[str, bool] = {}
        metrics.look(self._show)

    async def see(self, deployments: Sequence[Deployment], facts: Facts) -> None:
        """As of now, by who knows who is silent. UnavailableError."""
        silent = await self._levels.silent(deployments)
        self._metrics.set_levels(dict.fromkeys(silent, Level.OFF))
        self._seen = {one.app: one.app in facts.leaders for one in facts.wanted}

    def clear(self) -> None:
        """It is another coordinator's to say."""
        self._seen = {}
        self._show()

    def _show(self) -> None:
        for unit in self._shown.keys() - self._seen.keys():
            self._metrics.forget(LED, **_labels(unit))
        for unit, is_led in self._seen.items():
            self._metrics.set(LED, is_led, **_labels(unit))
        self._shown = self._seen


def _labels(unit: str) -> dict[str, object]:
    place = place_of(unit)
    return {"app": place.app, "group": place.group, "partition": place.partition}
