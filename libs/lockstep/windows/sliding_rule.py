"""length, time, timeLength, externalTime and session grouped or not, also in value partitions."""

from __future__ import annotations

from lockstep.columns.expressions import NotLowerable
from lockstep.columns.units import Unit
from lockstep.plan import QueryNode
from lockstep.streams.contract import Rule, Site
from lockstep.streams.lowering import WindowCall, build, stream_of, window_of
from lockstep.windows.contract import ColumnarWindow, Setup
from lockstep.windows.external_time.columns import ExternalTimeWindow
from lockstep.windows.length.columns import LengthWindow
from lockstep.windows.partition_timers import check_timers
from lockstep.windows.session.columns import SessionWindow
from lockstep.windows.time.columns import TimerTimeWindow, TimeWindow


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
