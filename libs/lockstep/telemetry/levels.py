"""How much an app's metrics tell (@app:statistics): nothing, what costs nothing, or all."""

from __future__ import annotations

from enum import StrEnum


class Level(StrEnum):
    """OFF: no series of the app. BASIC: all that is counted anyway. DETAIL: the time in each query,
    too."""

    OFF = "OFF"
    BASIC = "BASIC"
    DETAIL = "DETAIL"
