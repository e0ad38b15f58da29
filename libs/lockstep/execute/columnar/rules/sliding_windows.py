"""length, time and externalTime with any aggregator, also in value partitions."""

from __future__ import annotations

from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.streams import WindowCall, build, stream_of, window_of
from lockstep.execute.columnar.units import Unit
from lockstep.execute.columnar.windows.contract import ColumnarWindow, Setup
from lockstep.execute.columnar.windows.external_time import ExternalTimeWindow
from lockstep.execute.columnar.windows.length import LengthWindow
from lockstep.execute.columnar.windows.time import TimerTimeWindow, TimeWindow
from lockstep.plan import QueryNode


def _length(call: WindowCall, setup: Setup) -> ColumnarWindow:
    length = int(call.constant(0))
    if length <= 0:
        raise NotLowerable("length(0)")
    return LengthWindow(setup, length)


def _time(call: WindowCall, setup: Setup) -> ColumnarWindow:
    length_ms = int(call.constant(0))
    if not setup.wants_expired:
        return TimeWindow(setup, length_ms)
    if setup.keyed:
        raise NotLowerable("expired rows of time windows in a partition")
    return TimerTimeWindow(setup, length_ms)


def _external_time(call: WindowCall, setup: Setup) -> ColumnarWindow:
    return ExternalTimeWindow(setup, call.long_attribute(0), int(call.constant(1)))


_WINDOWS = {"length": _length, "time": _time, "externalTime": _external_time}


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    window = None if stream is None else window_of(stream)
    if stream is None or window is None or window.namespace or window.name not in _WINDOWS:
        return None
    return build(node, site, stream, _WINDOWS)


SLIDING_WINDOWS = Rule("sliding window", _lower)
