"""How the suite speaks about itself: one shape of log line, one list of metrics."""

from lockstep.telemetry.levels import Level
from lockstep.telemetry.logs import Logger, configure_logging, get_logger
from lockstep.telemetry.metrics import CONTENT_TYPE, Metrics
from lockstep.telemetry.names import METRICS, MetricKind, MetricName

__all__ = [
    "CONTENT_TYPE",
    "METRICS",
    "Level",
    "Logger",
    "MetricKind",
    "MetricName",
    "Metrics",
    "configure_logging",
    "get_logger",
]
