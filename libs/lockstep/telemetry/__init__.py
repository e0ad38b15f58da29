"""How the suite speaks about itself: one shape of log line, one list of metrics."""

from lockstep.telemetry.levels import Level
from lockstep.telemetry.logs import Logger, configure_logging, get_logger, is_logging_configured
from lockstep.telemetry.metrics import CONTENT_TYPE, Metrics
from lockstep.telemetry.names import METRICS, MetricKind, MetricName
from lockstep.telemetry.recent import Reading, Recent, RecentBy
from lockstep.telemetry.seldom import Seldom
from lockstep.telemetry.tail import LEVELS, LogLine, LogTail
from lockstep.telemetry.traces import NO_TRACES, Traces, current_trace
from lockstep.telemetry.tracing import open_traces

__all__ = [
    "CONTENT_TYPE",
    "LEVELS",
    "METRICS",
    "NO_TRACES",
    "Level",
    "LogLine",
    "LogTail",
    "Logger",
    "MetricKind",
    "MetricName",
    "Metrics",
    "Reading",
    "Recent",
    "RecentBy",
    "Seldom",
    "Traces",
    "configure_logging",
    "current_trace",
    "get_logger",
    "is_logging_configured",
    "open_traces",
]
