"""Dashboards and alert rules: as the list of metrics has them, and as a parser of PromQL reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import promql_parser
import pytest

from lockstep.telemetry import METRICS, MetricName
from lockstep.telemetry.boards import ALERTS, DASHBOARDS, RUNBOOK, files
from lockstep.telemetry.boards.files import anchor
from lockstep.telemetry.boards.promql import WINDOW, gauge, quantile, rate

ROOT = Path(__file__).parents[3]
EXPRESSIONS = {
    f"{board.uid}: {panel.title}: {legend}": expression
    for board in DASHBOARDS
    for panel in board.panels
    for expression, legend in panel.lines
} | {alert.name: alert.expression for alert in ALERTS}


def _readable(expression: str) -> str:
    return expression.replace(WINDOW, "1m").replace("$app", ".*")


def test_the_files_are_what_the_list_gives() -> None:
    """`lockstep observe services/observe` was run after the last change."""
    folder = ROOT / "services" / "observe"
    found = {
        str(file.relative_to(folder)): file.read_text(encoding="utf-8")
        for file in folder.rglob("*")
        if file.is_file()
    }
    assert found == files(), "run: lockstep observe services/observe"


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_expression_is_promql(name: str) -> None:
    """A parser of PromQL reads it."""
    promql_parser.parse(_readable(EXPRESSIONS[name]))


def test_every_metric_is_shown() -> None:
    """On some dashboard, or in some alert."""
    text = " ".join(EXPRESSIONS.values())
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"lockstep_\w+", text)}
    rare = {"lockstep_processor_epoch", "lockstep_processor_input_position"}
    rare |= {"lockstep_processor_behind_ms", "lockstep_processor_snapshot_bytes"}
    rare |= {"lockstep_holder_wrong_deaths_total", "lockstep_audit_lost_total"}
    rare |= {"lockstep_control_unproven_total"}
    rare |= {"lockstep_coordinator_figures_waiting", "lockstep_coordinator_figures_lost_total"}
    assert shown | rare == set(get_args(MetricName))


def test_alerts_lead_to_headings_of_the_runbook() -> None:
    """A link that leads nowhere helps nobody at night."""
    text = (ROOT / RUNBOOK).read_text(encoding="utf-8")
    headings = {anchor(line.lstrip("# ")) for line in text.splitlines() if line.startswith("#")}
    assert {anchor(alert.heading) for alert in ALERTS} <= headings


def test_lists_of_alerts_and_panels_have_no_name_twice() -> None:
    """Prometheus and Grafana tell them apart by name."""
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    assert len({board.uid for board in DASHBOARDS}) == len(DASHBOARDS)


def test_refuses_what_there_is_not() -> None:
    """A counter is no gauge, and no metric has a label that it does not declare."""
    with pytest.raises(ValueError, match="is a gauge"):
        rate("lockstep_ready")
    with pytest.raises(ValueError, match="is a counter"):
        quantile(0.5, "lockstep_dead_letters_total")
    with pytest.raises(ValueError, match="no label colour"):
        gauge("lockstep_ready", "colour")
    assert "app" in METRICS["lockstep_dead_letters_total"].labels
    assert rate("lockstep_dead_letters_total", "app") == (
        f'sum by (app) (rate(lockstep_dead_letters_total{{app=~"$app"}}[{WINDOW}]))'
    )
