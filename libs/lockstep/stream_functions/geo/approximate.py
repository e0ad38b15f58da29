"""`#geo:locationApproximate`: where somebody is, by the beacons that hear of them."""

from __future__ import annotations

import math
from typing import Any, Final

from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import StreamCall
from lockstep.stream_functions.geo.followed import KEEP_MS, Following

BEACON_MS: Final = 300_000
"""A beacon that was silent for longer, by the events' own timestamps, does not count any more."""

_Beacon = tuple[float, float, float, int]
"""Latitude, longitude, weight, timestamp."""


class LocationApproximate(Following):
    """The weighted mean of the places of the beacons that somebody is at."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call, KEEP_MS)
        self._values = call.values

    def seen(self, event: StreamEvent) -> list[tuple[Any, ...]]:
        values = [value(event) for value in self._values]
        if None in values:
            raise EventError("geo:locationApproximate takes no null")
        recorder, latitude, longitude, proximity, beacon, weight, timestamp = values
        beacons: dict[str, _Beacon] = dict(self.of(recorder) or {})
        if beacon not in beacons or beacons[beacon][3] < timestamp:
            beacons.pop(beacon, None)
            if proximity.upper() in ("ENTER", "RANGE"):
                beacons[beacon] = (float(latitude), float(longitude), float(weight), timestamp)
        heard = {
            name: one for name, one in sorted(beacons.items()) if timestamp - one[3] <= BEACON_MS
        }
        if heard:
            self.remember(recorder, heard)
        else:
            self.drop(recorder)
        mean = _mean(list(heard.values()))
        return [(float(latitude), float(longitude), False) if mean is None else (*mean, True)]


def _mean(beacons: list[_Beacon]) -> tuple[float, float] | None:
    """Latitude and longitude of the mean in space; None where nothing weighs anything."""
    total = sum(weight for _, _, weight, _ in beacons)
    if not (math.isfinite(total) and total > 0):
        return None
    x = y = z = 0.0
    for latitude, longitude, weight, _ in beacons:
        north, east, share = math.radians(latitude), math.radians(longitude), weight / total
        x += math.cos(north) * math.cos(east) * share
        y += math.cos(north) * math.sin(east) * share
        z += math.sin(north) * share
    return math.degrees(math.atan2(z, math.hypot(x, y))), math.degrees(math.atan2(y, x))
