"""Apps while PostgreSQL answers and refuses: they go on, and revisions are taken again later."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest
from structlog.testing import capture_logs

from tests.integration.services.cluster import STEADY, Cluster, revisions_of, until
from tests.integration.services.conftest import Start

PROCESSORS = ("processor-1", "processor-2")
EVERY_INTERVAL = {**STEADY, "LOCKSTEP_PROCESSOR__SNAPSHOT_INTERVAL_MS": "300"}
NOT_TAKEN = "no revision taken"
APP = """
@app:name('Refused')
define stream In (n long);
from In#window.length(5) select sum(n) as total insert into Out;
"""
ROLE = "rotated"
"""Of the processors, with a password of its own."""


async def _by_operator(cluster: Cluster, *statements: str) -> None:
    operator = await asyncpg.connect(cluster.settings.store.postgres_dsn.get_secret_value())
    try:
        for statement in statements:
            await operator.execute(statement)
    finally:
        await operator.close()


async def _start_processors(cluster: Cluster) -> None:
    await _by_operator(
        cluster,
        f"drop role if exists {ROLE}",
        f"create role {ROLE} login superuser password 'own'",
    )
    url = urlsplit(cluster.settings.store.postgres_dsn.get_secret_value())
    place = url.netloc.rpartition("@")[2]
    dsn = url._replace(netloc=f"{ROLE}:own@{place}").geturl()
    for name in PROCESSORS:
        await cluster.start(name, LOCKSTEP_STORE__POSTGRES_DSN=dsn)


@pytest.mark.parametrize(
    ("breaking", "mending", "why"),
    [
        (
            ["alter table lockstep.revisions rename to elsewhere"],
            "alter table lockstep.elsewhere rename to revisions",
            "lockstep.revisions",
        ),
        (
            [
                f"alter role {ROLE} password 'another'",
                "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
                f" where usename = '{ROLE}'",
            ],
            f"alter role {ROLE} password 'own'",
            "password authentication failed",
        ),
    ],
)
async def test_an_app_goes_on_while_no_revision_can_be_taken(
    cluster_of: Start, breaking: list[str], mending: str, why: str
) -> None:
    """For longer than it takes the standby to find that out, and the leader in its place."""
    async with cluster_of("coordinator", "receiver", **EVERY_INTERVAL) as cluster:
        await _start_processors(cluster)
        app = await cluster.deploy(APP, replicas=2)
        leader, sent = await cluster.active(app), 0

        async def send_one() -> None:
            nonlocal sent
            await cluster.send(app, "In", {"n": sent})
            sent += 1

        await send_one()
        with capture_logs() as said:
            await _by_operator(cluster, *breaking)

            async def troubles() -> list[Any]:
                await send_one()
                found = [
                    one
                    for one in said
                    if one["event"] == NOT_TAKEN or str(one.get("task")).startswith("replica-")
                ]
                return [one for one in found if why in one["error"]][3:]

            try:
                told = await until(troubles, "revisions are tried again and again")
            finally:
                await _by_operator(cluster, mending)
            await cluster.published_count(app, sent)
        assert {(one["event"], one["log_level"]) for one in told} == {(NOT_TAKEN, "error")}
        assert await cluster.active(app) == leader
        await send_one()
        end = (await cluster.taken_in(app))[-1].position

        async def taken() -> bool:
            return any(one.position >= end for one in await revisions_of(cluster.watcher, app))

        await until(taken, "a revision of all that was sent")
