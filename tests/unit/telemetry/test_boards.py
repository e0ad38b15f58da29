"""Dashboards and alert rules: as the list of metrics has them, and as a parser of PromQL reads."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args

import promql_parser
import pytest

from lockstep.telemetry import METRICS, MetricName
from lockstep.telemetry.boards import ALERTS, DASHBOARDS, RUNBOOK, files
from lockstep.telemetry.boards.alerts import SERVICES
from lockstep.telemetry.boards.files import anchor
from lockstep.telemetry.boards.promql import (
    WINDOW,
    gauge,
    increase,
    leaders,
    leaders_rate,
    quantile,
    rate,
)

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


@pytest.mark.processes
def test_alerts_ring_when_they_have_to() -> None:
    """As Prometheus' own tool finds, where there is one; `scripts/prometheus` brings it."""
    _check_cases(Path(__file__).parent / "alerts.yml")


def _check_cases(cases: Path) -> None:
    own = Path(sys.prefix) / "prometheus" / "usr" / "bin" / "promtool"
    tool = str(own) if own.exists() else shutil.which("promtool")
    if tool is None:
        pytest.skip("there is no promtool on this machine")
    done = subprocess.run(
        [tool, "test", "rules", str(cases)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.processes
def test_rows_of_a_warm_app_are_shown_once(tmp_path: Path) -> None:
    """Two processors give the same 60 rows a second, and one of them leads; as Prometheus finds."""
    shown = "lockstep-processors: Rows by query: {{app}} {{query}} {{partition}}"
    place = 'app="W",group="m",partition="0"'
    cases = {
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [
                    *(
                        {
                            "series": f'{name}{{{place},{more},instance="{each}"}}',
                            "values": values,
                        }
                        for each, role in (("a", "active"), ("b", "standby"))
                        for name, more, values in (
                            ("lockstep_query_rows_total", 'query="q"', "0+900x40"),
                            ("lockstep_processor_role", f'role="{role}"', "1x40"),
                        )
                    )
                ],
                "promql_expr_test": [
                    {
                        "expr": _readable(EXPRESSIONS[shown]),
                        "eval_time": "5m",
                        "exp_samples": [{"labels": f'{{{place},query="q"}}', "value": 60}],
                    }
                ],
            }
        ],
    }
    file = tmp_path / "cases.yml"  # of which JSON is a part
    file.write_text(json.dumps(cases), encoding="utf-8")
    _check_cases(file)


def test_the_first_value_of_a_counter_is_growth() -> None:
    """Unless Prometheus did not reach the process before, and it is an older one."""
    name: MetricName = "lockstep_receiver_pushed_back_total"
    start: MetricName = "lockstep_process_start_time_seconds"
    assert increase(name, "reason", minutes=5) == (
        f"sum by (reason) ((({name} unless {name} offset 5m) and on (instance)"
        f" ({start} offset 5m or {start} > time() - 300)) or increase({name}[5m]))"
    )


def test_what_standbys_show_is_left_out() -> None:
    """A gauge of units as their leaders have it."""
    lag, unit = "lockstep_processor_lag_positions", "app, group, partition"
    assert leaders("lockstep_processor_lag_positions", "app", "group", app="=~.+") == (
        f'max by (app, group) ({lag}{{app=~".+"}} and on (instance, {unit})'
        ' lockstep_processor_role{app=~".+", role="active"})'
    )


def test_what_standbys_count_as_well_is_counted_once() -> None:
    """They fold what their leader folds; a panel of a warm app would show it twice."""
    name, unit = "lockstep_query_rows_total", "app, group, partition"
    assert leaders_rate("lockstep_query_rows_total", "app", "query") == (
        f'sum by (app, query) (rate({name}{{app=~"$app"}}[{WINDOW}]) and on (instance, {unit})'
        ' lockstep_processor_role{app=~"$app", role="active"})'
    )
    folding = "processor_(events|repeated_events|poison_events)|query_(rows|busy_ms)"
    found = [one for one in EXPRESSIONS.values() if re.search(f"lockstep_({folding})_total", one)]
    assert len(found) == 5
    assert [
        one for one in found if 'lockstep_processor_role{app=~"$app", role="active"}' not in one
    ] == []


def test_every_service_is_watched_and_none_is_needed_for_that() -> None:
    """Where nothing is found any more there are no series."""
    (away,) = [one for one in ALERTS if one.name == "LockstepServiceAway"]
    assert away.is_page
    for service in SERVICES:
        assert f'label_replace(vector(0), "service", "{service}", "", "")' in away.expression
    (leads,) = [one for one in ALERTS if one.name == "LockstepNoCoordinator"]
    assert leads.expression.endswith("or vector(0)) < 1")


def test_every_metric_is_shown() -> None:
    """On some dashboard, or in some alert."""
    text = " ".join(EXPRESSIONS.values())
    shown = {re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"lockstep_\w+", text)}
    rare = {"lockstep_processor_epoch", "lockstep_processor_input_position"}
    rare |= {"lockstep_processor_behind_ms", "lockstep_processor_snapshot_bytes"}
    rare |= {"lockstep_holder_wrong_deaths_total", "lockstep_audit_lost_total"}
    rare |= {"lockstep_control_unproven_total", "lockstep_log_lines_lost_total"}
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
