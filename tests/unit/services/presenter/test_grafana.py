"""Grafana's data source, asked as its plug-in asks."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.services.presenter.rows import send, shown, suite
from tests.unit.services.suite import CLUSTER, Doors, bearer

ROOT = bearer(CLUSTER)
LIMITS = {
    "LOCKSTEP_PRESENTER__GRAFANA_MAX_BODY_BYTES": "2000",
    "LOCKSTEP_PRESENTER__GRAFANA_MAX_TARGETS": "2",
    "LOCKSTEP_PRESENTER__GRAFANA_MAX_ROWS": "4",
}
BAD: tuple[tuple[str, Any, str], ...] = (
    ("query", {"targets": [{"target": ""}]}, "is no target"),
    ("query", {"targets": [{"target": "A"}]}, "names an app alone"),
    ("query", {"targets": [{"target": "B/Out"}]}, "no app named 'B'"),
    ("query", {"targets": [{"target": "A/Nope"}]}, "no output stream or stored table"),
    ("query", {"targets": [{"target": "A/Out/w"}]}, "no attribute 'w'"),
    ("query", {"targets": [{"target": "A/Out/v/w"}]}, "is no target"),
    ("query", {"targets": [{"target": "A/Out", "type": "pie"}]}, "there is no 'pie'"),
    ("query", {"targets": [{"target": "A/Out/s", "type": "timeserie"}]}, "no number to draw"),
    ("query", {"targets": [{"target": "A/Out", "payload": {"query": 1}}]}, "expected a text"),
    (
        "query",
        {"targets": [{"target": "A", "payload": {"query": "delete T on true"}}]},
        "changes what the app holds",
    ),
    ("query", {"targets": [{"target": "A/Out"}] * 3}, "at most 2 are answered"),
    ("query", {"targets": [{"target": "A/Out"}], "maxDataPoints": 0}, "expected 1 or more"),
    ("query", {"targets": "A/Out"}, "targets"),
    ("query", {"targets": [{"target": "A/Out", "refId": "x" * 65}]}, "refId"),
    ("query", {"targets": [], "range": {"from": "noon"}}, "is no time"),
    ("annotations", {"annotation": {"query": "A"}}, "a stream alone"),
    ("annotations", {"annotation": {"query": "A/Out", "x": "y" * 1_024}}, "1024 bytes"),
    ("variable", {"payload": {"target": ["A"]}}, "expected a text"),
    ("metric-payload-options", {"name": "query"}, "offers no options"),
    ("tag-values", {"key": "nope"}, "no attribute 'nope'"),
)
RANGE = {"from": "2000-01-01T00:00:00.000Z", "to": "2100-01-01T00:00:00.000Z"}


async def good(doors: Doors, path: str, body: Any = None) -> Any:
    """The answer of a route."""
    status, answer = await doors.ask(ROOT, "POST", f"/grafana/{path}", body)
    assert status == 200, answer
    return answer


async def asked(doors: Doors, *targets: Any, **panel: Any) -> Any:
    """What a panel is given."""
    body = {
        "panelId": "Q-1", "interval": "30s", "intervalMs": 30_000, "range": RANGE,
        "targets": [one if isinstance(one, dict) else {"target": one} for one in targets], **panel,
    }  # fmt: skip
    return await good(doors, "query", body)


async def test_a_panel_draws_series_and_tables() -> None:
    """Values with times in milliseconds, columns with types."""
    async with suite() as (doors, _):
        await send(doors, 1, 5, 3, text="x")
        await shown(doors, 3)
        (series,) = await asked(doors, {"target": "A/Out", "refId": "B", "payload": {}})
        assert (series["target"], series["refId"]) == ("A/Out/v", "B")
        assert [value for value, _ in series["datapoints"]] == [1, 5, 3]
        _, latest = await doors.ask(ROOT, "GET", "/v1/apps/A/streams/Out/latest")
        times = [row["timestamp_ms"] for row in reversed(latest["events"])]
        assert [at for _, at in series["datapoints"]] == times
        (table,) = await asked(doors, {"target": "A/Out", "payload": {"type": "table"}})
        assert table["columns"] == [
            {"text": "Time", "type": "time"}, {"text": "v", "type": "number"},
            {"text": "s", "type": "string"},
        ]  # fmt: skip
        rows = [[at, v, "x"] for at, v in zip(times, (1, 5, 3), strict=True)]
        assert (table["type"], table["rows"]) == ("table", rows)
        (texts,) = await asked(doors, "A/Out/s")
        assert [row[1] for row in texts["rows"]] == ["x", "x", "x"]
        (last,) = await asked(doors, "A/Out/v", maxDataPoints=1)
        assert [value for value, _ in last["datapoints"]] == [3]
        high = [{"key": "v", "operator": ">", "value": "2"}]
        (some,) = await asked(doors, "A/Out/v", adhocFilters=high)
        assert [value for value, _ in some["datapoints"]] == [5, 3]
        past = {"from": "2000-01-01T00:00:00Z", "to": "2000-01-02T00:00:00Z"}
        assert (await asked(doors, "A/Out/v", range=past))[0]["datapoints"] == []
        assert await asked(doors) == []


async def test_names_variables_tags_and_annotations() -> None:
    """All that editors of panels, variables and filters offer."""
    async with suite() as (doors, _):
        await send(doors, 2, 2, 1, text="x")
        await shown(doors, 3)
        assert await good(doors, "search", {"target": ""}) == ["A/Out", "A/Out/v", "A/Out/s"]
        assert await good(doors, "search", {"target": "OUT/V"}) == ["A/Out/v"]
        metrics = await good(doors, "metrics", {"metric": "A/Out", "payload": {"type": "table"}})
        assert [one["value"] for one in metrics] == ["A/Out", "A/Out/v", "A/Out/s"]
        (kind, query) = metrics[0]["payloads"]
        assert (kind["name"], kind["type"], query["name"]) == ("type", "select", "query")
        opened = {"metric": "A/Out", "payload": {}, "name": "type"}
        assert await good(doors, "metric-payload-options", opened) == kind["options"]
        for target, names in (
            ("", ["A"]), ("A", ["Out"]), ("A/Out", ["v", "s"]), ("A/Out/v", ["1", "2"]),
        ):  # fmt: skip
            found = await good(doors, "variable", {"payload": {"target": target}, "range": RANGE})
            assert found == [{"__text": name, "__value": name} for name in names]
        assert await good(doors, "tag-keys") == [
            {"type": "number", "text": "v"}, {"type": "string", "text": "s"},
        ]  # fmt: skip
        assert await good(doors, "tag-values", {"key": "v"}) == [{"text": "1"}, {"text": "2"}]
        annotation = {"name": "rows", "query": "A/Out", "enable": True}
        marks = await good(doors, "annotations", {"annotation": annotation, "range": RANGE})
        assert [mark["text"] for mark in marks] == ["v: 2, s: x", "v: 2, s: x", "v: 1, s: x"]
        assert (marks[0]["title"], marks[0]["tags"]) == ("A/Out", ["A", "Out"])
        assert marks[0]["annotation"] == annotation
        assert all(isinstance(mark["time"], int) for mark in marks)
        assert (await doors.ask(ROOT, "GET", "/grafana"))[0] == 200
        assert (await doors.ask(ROOT, "GET", "/grafana/"))[0] == 200


async def test_bad_questions_are_told_what_to_do() -> None:
    """400 with a hint, from each mistake."""
    async with suite(**LIMITS) as (doors, _):
        for path, body, why in BAD:
            status, problem = await doors.ask(ROOT, "POST", f"/grafana/{path}", body)
            assert status == 400, (body, problem)
            assert why in problem["detail"], problem
            assert problem["hint"], problem
        broken = {"targets": [{"target": "A", "payload": {"query": "nonsense"}}]}
        status, problem = await doors.ask(ROOT, "POST", "/grafana/query", broken)
        assert (status, problem["errors"][0]["line"]) == (400, 1)


async def test_limits() -> None:
    """Rows are shared by targets; lists and bodies end."""
    async with suite(**LIMITS) as (doors, _):
        await send(doors, 1, 2, 3, 4, 5, 6)
        await shown(doors, 6)
        (one,) = await asked(doors, "A/Out/v")
        assert [value for value, _ in one["datapoints"]] == [3, 4, 5, 6]
        both = await asked(doors, "A/Out/v", {"target": "A/Out/v", "type": "table"})
        assert [value for value, _ in both[0]["datapoints"]] == [5, 6]
        assert [row[1] for row in both[1]["rows"]] == [5, 6]
        values = await good(doors, "tag-values", {"key": "v"})
        assert [one["text"] for one in values] == ["3", "4", "5", "6"]
        body = {"target": "x" * 2_000}
        assert (await doors.ask(ROOT, "POST", "/grafana/search", body))[0] == 413


async def test_everybody_sees_what_they_may_view() -> None:
    """Nobody nothing, and who may view another app no more than that one."""
    async with suite() as (doors, _):
        other = (
            "@app:name('B') define stream In (v int);"
            " @sink(type='log') define stream Out (v int); from In select v insert into Out;"
        )
        assert (await doors.ask(ROOT, "PUT", "/v1/apps", {"text": other}))[0] == 201
        token = {"name": "wall", "grants": [{"role": "view", "app": "B"}]}
        status, made = await doors.ask(ROOT, "POST", "/v1/tokens", token)
        assert status in (200, 201), made
        wall = bearer(made["token"])
        async with asyncio.timeout(60):
            found: Any = None
            while found != ["B/Out", "B/Out/v"]:
                _, found = await doors.ask(wall, "POST", "/grafana/search", {})
                assert "A/Out" not in str(found)
                await asyncio.sleep(0.02)
        assert await good(doors, "variable", {}) == [
            {"__text": "A", "__value": "A"}, {"__text": "B", "__value": "B"},
        ]  # fmt: skip
        for path, body in (
            ("query", {"targets": [{"target": "A/Out"}]}),
            ("query", {"targets": [{"target": "A", "payload": {"query": "from T select *"}}]}),
            ("variable", {"payload": {"target": "A"}}),
            ("annotations", {"annotation": {"query": "A/Out"}}),
        ):
            assert (await doors.ask(wall, "POST", f"/grafana/{path}", body))[0] == 403
            assert (await doors.ask(None, "POST", f"/grafana/{path}", body))[0] == 401
        assert (await doors.ask(wall, "POST", "/grafana/tag-values", {"key": "s"}))[0] == 400
        assert (await doors.ask(wall, "GET", "/grafana/"))[0] == 200
        assert (await doors.ask(None, "GET", "/grafana/"))[0] == 401
