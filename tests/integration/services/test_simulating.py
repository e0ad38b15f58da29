"""The simulator on a real receiver, real logs and a real database, by command and by hand."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg
from typer.testing import CliRunner, Result

from lockstep.cli.addresses import Addresses
from lockstep.cli.client import Client
from lockstep.cli.command import app as command
from lockstep.cli.feeding import fetching, sending
from lockstep.clock import SeededRandomness, SystemClock
from lockstep.events import EventsRecord
from lockstep.simulating import Bounds, FeedSetup, Pacing, Phase, Simulation, feed_of
from tests.integration.services.cluster import Answer, Cluster, until
from tests.integration.services.conftest import Start
from tests.unit.services.suite import bearer

APP = """
@app:name('Fed')
define stream Reading (room string, celsius double, n int);
define stream Door (room string, open bool);
from Reading[celsius > 30.0] select room, n insert into Hot;
from Door select room insert into Opened;
"""
NODES = ("coordinator", "processor-1", "receiver")
SECRET = "the-cluster-secret-of-this-test"
READING = [("room", "string"), ("celsius", "double"), ("n", "int")]
BOUNDS = Bounds(max_feeds=1, max_rate_per_s=1_000, max_rows=1)
ROWS = "/v1/datasources/house/rows"
NAMED = "/v1/datasources"
DROPS = "select 1) as a; drop table readings; select * from (select 1"


async def simulate(cluster: Cluster, *words: str, token: str = "") -> Result:
    """The command, as somebody types it."""
    where = ["--coordinator", cluster.url("coordinator"), "--receiver", cluster.url("receiver")]
    given = [*where, "--presenter", cluster.url("receiver"), *(["--token", token] if token else [])]
    return await asyncio.to_thread(CliRunner().invoke, command, [*given, "simulate", *words])


async def taken(cluster: Cluster, stream: str) -> list[tuple[int, tuple[Any, ...]]]:
    """Time and values of each event of a stream, as the input log has them."""
    found = []
    for entry in await cluster.taken_in("Fed"):
        record = entry.record
        if isinstance(record, EventsRecord) and record.stream == stream:
            found += [
                (event.timestamp_ms, event.data) for chunk in record.chunks for event in chunk
            ]
    return found


async def database(cluster: Cluster, folder: Path) -> str:
    """A table of readings, and the file that names where it is."""
    dsn = cluster.settings.store.postgres_dsn.get_secret_value()
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "CREATE TABLE readings (at timestamptz, room text, celsius numeric, n int, note text)"
    )
    await connection.execute(
        "INSERT INTO readings VALUES ('2026-03-01 08:00:02+00', 'hall', 20.5, 2, ''),"
        " ('2026-03-01 08:00:01+00', 'attic', 31.25, 1, NULL),"
        " ('2026-03-01 08:00:03+00', NULL, 7, 3, '')"
    )
    await connection.close()
    return dsn


async def test_a_random_feed_and_a_csv_arrive_once_and_in_order(
    cluster_of: Start, tmp_path: Path
) -> None:
    """As many events as were asked for; what does not fit is refused alone, and told."""
    rules, both = tmp_path / "rules.json", tmp_path / "both.json"
    rules.write_text(json.dumps({"room": "attic|hall", "celsius": "15..35", "n": "1++"}))
    doors = "at,room,open\n2000,hall,true\n1000,attic,false\n"
    feeds: list[dict[str, Any]] = [
        {"stream": "Reading", "random": {"n": [1, 99999999999]}, "rate_per_s": 500,
         "limit_events": 40},
        {"stream": "Door", "csv": doors, "time_column": "at", "speed": 100, "keep_times": True},
    ]  # fmt: skip
    both.write_text(json.dumps({"feeds": feeds}))
    async with cluster_of(*NODES) as cluster:
        await cluster.deploy(APP)
        one = ("Fed", "--stream", "Reading", "--random", str(rules), "--seed", "7")
        done = await simulate(cluster, *one, "--rate", "2000", "--for", "100ms")
        assert (done.exit_code, done.stdout) == (0, "Reading: done, sent 200 events\n")
        rows = [data for _, data in await taken(cluster, "Reading")]
        assert [n for _, _, n in rows] == list(range(1, 201))
        assert {room for room, _, _ in rows} == {"attic", "hall"}
        assert all(15 <= celsius <= 35 for _, celsius, _ in rows)
        done = await simulate(cluster, "Fed", "--setup", str(both), "--seed", "3", "--json")
        assert done.exit_code == 2
        reading, door = json.loads(done.stdout)["feeds"]
        assert reading["sent"] + reading["refused"] == 40
        assert reading["refused"] > 0
        assert "n: " in reading["reason"]
        assert (door["phase"], door["sent"]) == ("done", 2)
        assert await taken(cluster, "Door") == [(1000, ("attic", False)), (2000, ("hall", True))]
        wrong = await simulate(cluster, "Fed", "--stream", "Rooms", "--random", str(rules))
        assert wrong.exit_code == 2
        assert "Fed takes no events in 'Rooms'" in wrong.output
        assert "Reading, Door" in wrong.output


async def test_rows_of_a_database_are_read_and_nothing_is_changed_there(
    cluster_of: Start, tmp_path: Path
) -> None:
    """A table, or one SELECT; a receiver that is stopped and comes back misses nothing."""
    file = tmp_path / "datasources.toml"
    file.write_text("")
    async with cluster_of(*NODES, LOCKSTEP_DATASOURCES__FILE=str(file)) as cluster:
        dsn = await database(cluster, tmp_path)
        file.write_text(f'[house]\nurl = "{dsn}"\n')
        await cluster.stop("receiver")
        await cluster.start("receiver", LOCKSTEP_DATASOURCES__FILE=str(file))
        await cluster.deploy(APP)
        given = ("Fed", "--stream", "Reading", "--datasource", "house")
        done = await simulate(
            cluster, *given, "--table", "readings", "--time-column", "at", "--speed", "50",
            "--keep-times",
        )  # fmt: skip
        assert (done.exit_code, done.stdout) == (0, "Reading: done, sent 3 events\n")
        began = 1_772_352_000_000
        assert await taken(cluster, "Reading") == [
            (began + 1_000, ("attic", 31.25, 1)), (began + 2_000, ("hall", 20.5, 2)),
            (began + 3_000, (None, 7.0, 3)),
        ]  # fmt: skip
        select = "select 'cellar' as room, celsius, n from readings where n > 1 -- the rest;"
        done = await simulate(cluster, *given, "--select", select, "--rate", "1000")
        assert (done.exit_code, done.stdout) == (0, "Reading: done, sent 2 events\n")
        for body, status, says in (
            ({"select": "delete from readings returning 1"}, 400, "syntax error"),
            ({"select": DROPS}, 400, "multiple commands"),
            ({"select": "select setval('pg_catalog.none', 1)"}, 400, "does not exist"),
            ({"table": 'readings"; drop table readings; --'}, 400, "does not exist"),
            ({"table": "nothing"}, 400, "does not exist"),
            ({}, 400, "name one of the two"),
            ({"table": "readings", "max_rows": 0}, 400, "expected 1 or more"),
        ):
            answered, told = await cluster.call("POST", "receiver", ROWS, json=body)
            assert (answered, says in str(told)) == (status, True), told
        status, told = await cluster.call(
            "POST", "receiver", ROWS, json={"table": "readings", "max_rows": 2}
        )
        assert (status, len(told["rows"]), told["is_cut"]) == (200, 2, True)
        told = (await cluster.call("GET", "receiver", NAMED))[1]
        assert told == {"datasources": [{"name": "house", "kind": "postgresql"}]}
        status, told = await cluster.call(
            "POST", "receiver", ROWS.replace("house", "shed"), json={"table": "readings"}
        )
        assert (status, told["detail"]) == (404, "there is no datasource 'shed'")
        connection = await asyncpg.connect(dsn)
        assert await connection.fetchval("SELECT count(*) FROM readings") == 3
        await connection.close()


async def test_who_may_not_deploy_everywhere_gets_no_row_of_a_database(
    cluster_of: Start, tmp_path: Path
) -> None:
    """By the route and by the command; to feed an app at random the right to send is enough."""
    rules = tmp_path / "rules.json"
    rules.write_text('{"room": "hall"}')
    file = tmp_path / "datasources.toml"
    file.write_text('[house]\nurl = "postgresql://127.0.0.1:9/none"\n')
    overrides = {"LOCKSTEP_DATASOURCES__FILE": str(file), "LOCKSTEP_SERVER__TOKEN": SECRET}
    async with cluster_of(*NODES, **overrides) as cluster:
        admin = {"Authorization": bearer(SECRET)}
        tokens = {}
        for role, app in (("operate", "*"), ("deploy", "Fed"), ("deploy", "*"), ("send", "Fed")):
            name, grants = f"{role}-{app}".replace("*", "all"), [{"role": role, "app": app}]
            body = {"name": name, "grants": grants, "expires_in_ms": 600_000}
            _, made = await cluster.call(
                "POST", "coordinator", "/v1/tokens", json=body, headers=admin
            )
            assert "token" in made, made
            tokens[role, app] = made["token"]
        status, told = await cluster.call(
            "PUT", "coordinator", "/v1/apps", json={"text": APP}, headers=admin
        )
        assert status == 201, told
        wanted = {"table": "readings"}
        for who, expected in (
            (("operate", "*"), 403), (("deploy", "Fed"), 403), (("send", "Fed"), 403),
            (("deploy", "*"), 503),
        ):  # fmt: skip
            headers = {"Authorization": bearer(tokens[who])}
            status, told = await _known(cluster, wanted, headers)
            assert status == expected, (who, told)
            status, told = await cluster.call("GET", "receiver", NAMED, headers=headers)
            assert status == (403 if expected == 403 else 200), (who, told)
        given = ("Fed", "--stream", "Reading")
        done = await simulate(
            cluster, *given, "--datasource", "house", "--table", "readings",
            token=tokens["operate", "*"],
        )  # fmt: skip
        assert done.exit_code == 2
        assert "deploy" in done.output
        done = await simulate(
            cluster, *given, "--random", str(rules), "--limit", "3", "--rate", "1000",
            token=tokens["operate", "*"],
        )  # fmt: skip
        assert (done.exit_code, done.stdout) == (0, "Reading: done, sent 3 events\n")


async def test_a_receiver_that_is_behind_holds_a_feed_up_and_nothing_is_lost(
    cluster_of: Start,
) -> None:
    """429 while nobody folds. Once somebody does it goes on; each event is in the log once, and in
    order."""
    limits = {"LOCKSTEP_RECEIVER__MAX_LOG_LAG_POSITIONS": "20"}
    async with cluster_of(*NODES, **limits) as cluster:
        await cluster.deploy(APP)
        await cluster.crash("processor-1")
        url = cluster.url("receiver")
        async with Client(Addresses(url, url, cluster.url("coordinator"))) as client:

            async def post(path: str, body: bytes, headers: Mapping[str, str]) -> Any:
                return await client.request("POST", url + path, body=body, headers=headers)

            setup = FeedSetup(stream="Reading", random={"n": "1++"}, rate_per_s=500, for_ms=1_000)
            feed = await feed_of(setup, READING, SeededRandomness(1), fetching(post, print), BOUNDS)
            run = Simulation([feed], sending("Fed", post), SystemClock(), "k", Pacing(tick_ms=5))
            run.start()

            async def held_up() -> bool:
                return run.figures()[0].held_up > 0

            await until(held_up, "a feed that is held up")
            (held,) = run.figures()
            assert held.phase is Phase.RUNNING
            assert "behind" in held.trouble
            assert held.waiting > 0
            await cluster.start("processor-1", **limits)
            await run.wait()
        (done,) = run.figures()
        assert (done.phase, done.sent, done.refused, done.trouble) == (Phase.DONE, 500, 0, "")
        numbers = [data[2] for _, data in await taken(cluster, "Reading")]
        assert numbers == list(range(1, 501))


async def test_rows_that_no_body_holds_together_arrive_in_smaller_ones(cluster_of: Start) -> None:
    """All of one time, once and in order; one that is too large by itself is refused alone."""
    limits = {"LOCKSTEP_RECEIVER__MAX_BODY_BYTES": "20000"}
    async with cluster_of(*NODES, **limits) as cluster:
        await cluster.deploy(APP)
        url = cluster.url("receiver")
        async with Client(Addresses(url, url, cluster.url("coordinator"))) as client:

            async def post(path: str, body: bytes, headers: Mapping[str, str]) -> Any:
                return await client.request("POST", url + path, body=body, headers=headers)

            rows = "".join(
                f"1000,{'x' * (30_000 if number == 70 else 900)},1.5,{number}\n"
                for number in range(100)
            )
            setup = FeedSetup(
                stream="Reading", csv=f"at,room,celsius,n\n{rows}", time_column="at", speed=1.0
            )
            bounds = Bounds(max_feeds=1, max_rate_per_s=1_000, max_rows=100)
            feed = await feed_of(setup, READING, SeededRandomness(1), fetching(post, print), bounds)
            run = Simulation([feed], sending("Fed", post), SystemClock(), "k")
            run.start()
            await run.wait()
        (done,) = run.figures()
        assert (done.phase, done.sent, done.refused) == (Phase.DONE, 99, 1), done
        assert "20000 bytes" in done.reason
        numbers = [data[2] for _, data in await taken(cluster, "Reading")]
        assert numbers == [number for number in range(100) if number != 70]


async def _known(cluster: Cluster, wanted: Mapping[str, str], headers: Mapping[str, str]) -> Answer:
    """What the receiver answers once it knows the token: it looks for new ones at most so often."""

    async def answered() -> Answer | None:
        answer = await cluster.call("POST", "receiver", ROWS, json=wanted, headers=headers)
        return None if answer[0] == 401 else answer

    found: Answer = await until(answered, "the receiver knows the token")
    return found
