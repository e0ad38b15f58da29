"""What `lockstep status` says of an app."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.cli.commands.deploy import beginning, outlook
from lockstep.cli.commands.status import heading, show_app

REPLICA = {
    "node": "processor-1",
    "unit": "'Hot'",
    "role": "active",
    "standby": "hot",
    "ready": True,
    "position": 12,
    "published": "12.0",
    "epoch": 3,
    "lag": 0,
    "trouble": None,
}


def _status(**changes: Any) -> dict[str, Any]:
    nodes = changes.get("nodes", ["processor-1"])
    return {
        "layout": 0,
        "units": [{"unit": "'Hot'", "group": "main", "partition": 0, "nodes": nodes}],
        "app": "Hot",
        "version": "c04aa7ea64719ba94853f82160db",
        "status": "active",
        "replicas_wanted": 1,
        "nodes": ["processor-1"],
        "replicas": [REPLICA],
        "sinks": [],
        **changes,
    }


def test_an_app_that_is_whole() -> None:
    """One line says so."""
    assert heading(_status()) == "Hot: runs, 1 replica, version c04aa7ea6471"


def test_replicas_that_are_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """How many are missing, and which of the nodes says nothing."""
    one = _status(replicas_wanted=3, nodes=["processor-1", "processor-2"])
    assert heading(one).startswith("Hot: runs, 1 of 3 replicas,")
    show_app(one)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if "processor-2" in line] == [["processor-2", "away"]]


def test_a_replica_that_fails_again_and_again(capsys: pytest.CaptureFixture[str]) -> None:
    """It is none, and its node says why."""
    failing = {**REPLICA, "role": "failing", "ready": False, "trouble": "the store refuses us"}
    show_app(_status(status="passive", replicas=[failing]))
    printed = capsys.readouterr().out
    assert "Hot: nobody leads, 0 of 1 replicas" in printed
    assert "failing" in printed
    assert "the store refuses us" in printed
    assert "away" not in printed


def test_an_app_that_nobody_has_begun(capsys: pytest.CaptureFixture[str]) -> None:
    """It was just deployed: where it will run is known."""
    show_app(_status(status="inactive", replicas=[]))
    printed = capsys.readouterr().out
    assert "Hot: no replica is heard of, 0 of 1 replicas" in printed
    assert "processor-1" in printed


def test_a_layout_that_goes_over(capsys: pytest.CaptureFixture[str]) -> None:
    """Who goes on meanwhile and what is waited for is told; nobody counts as of the present one."""
    places = [("one", 0), ("one", 1)]
    units = [
        {"unit": f"u2.{at}", "group": group, "partition": at, "nodes": ["processor-1"]}
        for group, at in places
    ]
    former = {
        **REPLICA, "layout": 1, "group": "one", "partition": 0, "unit": "u1.0", "trouble": "ill",
    }  # fmt: skip
    one = _status(layout=2, units=units, status="inactive", replicas=[former])
    assert heading(one).startswith(
        "Hot: goes over from layout 1 to layout 2, 2 units, 0 of 2 replicas"
    )
    show_app({**one, "waiting": "the end of u1.0 (ill)"})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["waits", "for", "the", "end", "of", "u1.0", "(ill)"] in lines
    rows = [line for line in lines if "processor-1" in line]
    assert [row[:3] for row in rows] == [["1", "one", "0"], ["2", "one", "0"], ["2", "one", "1"]]
    assert "ill" in rows[0]
    assert all("away" in row for row in rows[1:])


def test_what_troubles_a_sink(capsys: pytest.CaptureFixture[str]) -> None:
    """How far behind it is, whose it is, and why."""
    why = "http://127.0.0.1:9911/hook: connection refused"
    sink = {"sink": "Out.1.http", "sequence": 5, "log_end": 12, "trouble": why, "node": "publisher"}
    show_app(_status(sinks=[sink]))
    row = next(line for line in capsys.readouterr().out.splitlines() if "Out.1.http" in line)
    assert [cell.strip() for cell in row.split(maxsplit=3)] == ["Out.1.http", "publisher", "7", why]


def test_a_version_of_which_a_part_began_empty(capsys: pytest.CaptureFixture[str]) -> None:
    """Behind which position, and why: the windows before it are gone."""
    lost = ["query 'a' (new)", "table 'T' (changed: its keys)"]
    said = "query 'a' (new), table 'T' (changed: its keys)"
    replica = {**REPLICA, "began_empty": lost, "begins_behind": 7}
    show_app(_status(replicas=[replica, replica]))
    assert capsys.readouterr().out.count(f"began empty behind position 7: {said}\n") == 1
    whole = "it goes on from position 7 with its state"
    assert beginning({"began_empty": [], "begins_behind": 7}) == whole
    assert beginning({"began_empty": lost, "begins_behind": 7}) == (
        f"{whole}; what begins empty: {said}"
    )


def test_what_a_deployment_would_come_to() -> None:
    """One line, whatever it is."""
    told = {"app": "Hot", "created": False, "changed": True, "begins_empty": []}
    assert outlook(told) == "Hot would go on with its state"
    assert outlook(told | {"begins_empty": ["query 'a' (changed: its output)"]}) == (
        "Hot would go on with its state; what would begin empty: query 'a' (changed: its output)"
    )
    assert outlook(told | {"sinks_out": ["Out.0.http (5 records behind)", "Out.2.log"]}) == (
        "Hot would go on with its state; sinks that would be taken out:"
        " Out.0.http (5 records behind), Out.2.log"
    )
    assert outlook(told | {"created": True}) == "Hot would be deployed for the first time"
    assert outlook(told | {"changed": False}) == "Hot is deployed with this text"
