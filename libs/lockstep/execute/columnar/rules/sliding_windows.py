"""length, time, timeLength, externalTime and session grouped or not, also in value partitions."""

from __future__ import annotations

from lockstep.execute.columnar.expressions import NotLowerable
from lockstep.execute.columnar.rules.contract import Rule, Site
from lockstep.execute.columnar.rules.partition_timers import check_timers
from lockstep.execute.columnar.rules.streams import WindowCall, build, stream_of, window_of
from lockstep.execute.columnar.units import Unit
from lockstep.execute.columnar.windows.contract import ColumnarWindow, Setup
from lockstep.execute.columnar.windows.external_time import ExternalTimeWindow
from lockstep.execute.columnar.windows.length import LengthWindow
from lockstep.execute.columnar.windows.session import SessionWindow
from lockstep.execute.columnar.windows.time import TimerTimeWindow, TimeWindow
from lockstep.plan import QueryNode


def _length(call: WindowCall, setup: Setup) -> ColumnarWindow:
    length = int(call.constant(0))
    if length <= 0:
        raise NotLowerable("length(0)")
    return LengthWindow(setup, length)


def _time(call: WindowCall, setup: Setup) -> ColumnarWindow:
    limits = [int(call.constant(index)) for index in range(len(call))]
    if not setup.wants_expired:
        return TimeWindow(setup, *limits)
    if setup.keyed:
        raise NotLowerable("expired rows of time windows in a partition")
    return TimerTimeWindow(setup, *limits)


def _external_time(call: WindowCall, setup: Setup) -> ColumnarWindow:
    return ExternalTimeWindow(setup, call.long_attribute(0), int(call.constant(1)))


def _session(call: WindowCall, setup: Setup) -> ColumnarWindow:
    if setup.keyed and len(call) > 1:
        raise NotLowerable("session with a key in a partition")
    key = call.string_attribute(1) if len(call) > 1 else None
    latency_ms = int(call.constant(2)) if len(call) > 2 else 0
    return SessionWindow(setup, int(call.constant(0)), key, latency_ms)


_WINDOWS = {
    "length": _length,
    "time": _time,
    "timeLength": _time,
    "externalTime": _external_time,
    "session": _session,
}


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    window = None if stream is None else window_of(stream)
    if stream is None or window is None or window.namespace or window.name not in _WINDOWS:
        return None
    if window.name == "session":
        check_timers(node, site)
    return build(node, site, stream, _WINDOWS)


SLIDING_WINDOWS = Rule("sliding window", _lower)
