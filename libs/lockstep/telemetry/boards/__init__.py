"""What operators look at: Grafana dashboards and Prometheus rules. They are made from the list of
metrics, so none can name a metric or a label that there is not."""

from lockstep.telemetry.boards.alerts import ALERTS
from lockstep.telemetry.boards.dashboards import DASHBOARDS
from lockstep.telemetry.boards.files import RUNBOOK, files

__all__ = ["ALERTS", "DASHBOARDS", "RUNBOOK", "files"]
