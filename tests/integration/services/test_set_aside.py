"""Processors on Spark whose workers die of an event: a coordinator's word sets it aside, on all."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus import StoredDeadLetter
from lockstep.execute.undoing import UNFOLDABLE
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_lost_states import kill_workers

APP = """@app:name('Heavy')
define stream S (k int, size long);
define function hold[python] return long { return len(bytes(data[0])) };
from S select k, hold(size) as h insert into O;
from S select k, count() as n insert into P;
"""


async def test_the_app_goes_on_without_it_and_a_restart_does_not_meet_it_again(
    cluster_of: Start, spark_env: None
) -> None:
    """One dead letter, no row of it, every other row once."""
    settings = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": "spark",
        "LOCKSTEP_SPARK__WORKER_MEMORY": "2g",
    }
    names = ("coordinator", "processor-1", "processor-2", "receiver")
    async with cluster_of(*names, **settings) as cluster:
        app = await cluster.deploy(APP, replicas=2)
        await cluster.send(app, "S", [{"k": 1, "size": 1}])
        await cluster.send(app, "S", [{"k": 2, "size": 4 << 30}])
        await cluster.send(app, "S", [{"k": 3, "size": 3}])
        rows = await cluster.published_count(app, 4)
        assert sorted(row.data for row in rows) == [(1, 1), (1, 1), (3, 2), (3, 3)]
        await cluster.settled(app, 2)
        leader = await cluster.active(app)
        await cluster.stop(leader)
        await cluster.start(leader)
        await cluster.settled(app, 2)
        await cluster.send(app, "S", [{"k": 4, "size": 4}])
        rows = await cluster.published_count(app, 6)
        assert sorted(row.data for row in rows[4:]) == [(4, 3), (4, 4)]

        async def found() -> Sequence[StoredDeadLetter]:
            return await cluster.watcher.bus.dead_letters.read(app)

        (letter,) = await until(found, "a dead letter")
        assert letter.letter.reason == UNFOLDABLE
    kill_workers()  # their limit is for good, and they would serve other tests
