"""timeBatch, lengthBatch, externalTimeBatch and hopping, also in value partitions."""

from __future__ import annotations

from lockstep.columns.expressions import NotLowerable
from lockstep.columns.units import Unit
from lockstep.events import AttributeType
from lockstep.plan import QueryNode
from lockstep.siddhiql import ast
from lockstep.streams.contract import Rule, Site
from lockstep.streams.lowering import WindowCall, build, stream_of, window_of
from lockstep.windows.contract import ColumnarWindow, Setup
from lockstep.windows.external_time_batch.columns import ExternalTimeBatchWindow
from lockstep.windows.hopping.columns import HoppingWindow
from lockstep.windows.length_batch.columns import LengthBatchWindow
from lockstep.windows.partition_timers import check_timers
from lockstep.windows.time_batch.columns import TimeBatchWindow


def _is_flag(call: WindowCall, index: int) -> bool:
    argument = call.call.arguments[index]
    return isinstance(argument, ast.Constant) and argument.type is AttributeType.BOOL


def _time_batch(call: WindowCall, setup: Setup) -> ColumnarWindow:
    if any(_is_flag(call, index) for index in range(1, len(call))):
        raise NotLowerable("stream.current.event")
    start_ms = int(call.constant(1)) if len(call) > 1 else None
    return TimeBatchWindow(setup, int(call.constant(0)), start_ms)


def _length_batch(call: WindowCall, setup: Setup) -> ColumnarWindow:
    length = int(call.constant(0))
    if length <= 0 or len(call) > 1:
        raise NotLowerable("lengthBatch(0) or stream.current.event")
    return LengthBatchWindow(setup, length)


def _external_time_batch(call: WindowCall, setup: Setup) -> ColumnarWindow:
    if len(call) > 3:
        raise NotLowerable("externalTimeBatch with a timeout")
    start_ms = int(call.constant(2)) if len(call) > 2 else None
    attribute = call.long_attribute(0)
    return ExternalTimeBatchWindow(setup, attribute, int(call.constant(1)), start_ms)


def _hopping(call: WindowCall, setup: Setup) -> ColumnarWindow:
    return HoppingWindow(setup, int(call.constant(0)), int(call.constant(1)))


_WINDOWS = {
    "timeBatch": _time_batch,
    "hopping": _hopping,
    "lengthBatch": _length_batch,
    "externalTimeBatch": _external_time_batch,
}


def _lower(node: QueryNode, site: Site) -> Unit | None:
    stream = stream_of(node.query)
    window = None if stream is None else window_of(stream)
    if stream is None or window is None or window.namespace or window.name not in _WINDOWS:
        return None
    if window.name in ("timeBatch", "hopping"):
        check_timers(node, site)
    return build(node, site, stream, _WINDOWS)


TUMBLING_WINDOWS = Rule("tumbling window", _lower)
