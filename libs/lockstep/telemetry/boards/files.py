"""The files that Prometheus and Grafana read, as text by path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from lockstep.telemetry.boards.alerts import ALERTS, SERVICES, Alert
from lockstep.telemetry.boards.dashboards import DASHBOARDS, Dashboard, Panel
from lockstep.telemetry.names import METRICS, MetricName

RUNBOOK: Final = "services/RUNBOOK.md"
PORT: Final = 8080
SCRAPE_S: Final = 5
DATASOURCE: Final = "lockstep-prometheus"
NOTE: Final = (
    "# Written by `lockstep observe`; a test compares. Change lockstep/telemetry/boards.\n"
)
COLUMNS, WIDTH, HEIGHT = 2, 12, 8


def files(runbook: str = RUNBOOK) -> dict[str, str]:
    """All of them; `runbook`: where the alerts' links lead."""
    found = {
        "prometheus/prometheus.yml": _prometheus(),
        "prometheus/rules.yml": _rules(runbook),
        "grafana/datasources/prometheus.yml": _DATASOURCES,
        "grafana/dashboards/lockstep.yml": _PROVIDERS,
    }
    for board in DASHBOARDS:
        text = msgspec.json.format(msgspec.json.encode(_dashboard(board)), indent=1).decode()
        found[f"grafana/dashboards/{board.uid}.json"] = text + "\n"
    return found


def anchor(heading: str) -> str:
    """The address of a heading within its page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _prometheus() -> str:
    names = ", ".join(SERVICES)
    return f"""{NOTE}# Finds every container of the five services by name. With a token set, add
#   authorization: {{ credentials_file: /path/to/token }}
global: {{ scrape_interval: {SCRAPE_S}s, evaluation_interval: {SCRAPE_S}s }}
rule_files: [rules.yml]
scrape_configs:
  - job_name: lockstep
    dns_sd_configs:
      - {{ names: [{names}], type: A, port: {PORT}, refresh_interval: {SCRAPE_S}s }}
"""


def _rules(runbook: str) -> str:
    rules = "\n".join(_rule(alert, runbook) for alert in ALERTS)
    return f"{NOTE}groups:\n  - name: lockstep\n    rules:\n{rules}\n"


def _rule(alert: Alert, runbook: str) -> str:
    severity = "page" if alert.is_page else "ticket"
    return f"""      - alert: {alert.name}
        expr: {_quoted(alert.expression)}
        for: {alert.minutes}m
        labels: {{ severity: {severity} }}
        annotations:
          summary: {_quoted(alert.summary)}
          runbook_url: {_quoted(f"{runbook}#{anchor(alert.heading)}")}"""


def _quoted(text: str) -> str:
    """A string of JSON is one of YAML."""
    return msgspec.json.encode(text).decode()


def _dashboard(board: Dashboard) -> dict[str, Any]:
    return {
        "uid": board.uid,
        "title": board.title,
        "tags": ["lockstep"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "templating": {"list": [_app_variable()]},
        "panels": list(_panels(board)),
    }


def _app_variable() -> dict[str, Any]:
    metric: MetricName = "lockstep_processor_role"
    assert "app" in METRICS[metric].labels
    return {
        "name": "app",
        "type": "query",
        "datasource": {"type": "prometheus", "uid": DATASOURCE},
        "query": {"query": f"label_values({metric}, app)", "refId": "apps"},
        "refresh": 2,
        "includeAll": True,
        "allValue": ".*",
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels(board: Dashboard) -> Iterator[dict[str, Any]]:
    for index, panel in enumerate(board.panels):
        row, column = divmod(index, COLUMNS)
        yield {
            "id": index + 1,
            "type": "timeseries",
            "title": panel.title,
            "datasource": {"type": "prometheus", "uid": DATASOURCE},
            "gridPos": {"h": HEIGHT, "w": WIDTH, "x": column * WIDTH, "y": row * HEIGHT},
            "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
            "options": {"legend": {"displayMode": "list"}, "tooltip": {"mode": "multi"}},
            "targets": list(_targets(panel)),
        }


def _targets(panel: Panel) -> Iterator[dict[str, Any]]:
    for index, (expression, legend) in enumerate(panel.lines):
        yield {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}


_DATASOURCES: Final = f"""{NOTE}apiVersion: 1
datasources:
  - name: Prometheus
    uid: {DATASOURCE}
    type: prometheus
    access: proxy
    url: http://prometheus:9090
    isDefault: true
    jsonData: {{ timeInterval: {SCRAPE_S}s }}
"""
_PROVIDERS: Final = f"""{NOTE}apiVersion: 1
providers:
  - name: lockstep
    type: file
    allowUiUpdates: false
    options: {{ path: /etc/grafana/provisioning/dashboards }}
"""
