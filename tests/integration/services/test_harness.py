"""What the tests of this folder rest on: a cluster begins with nothing of the one before."""

from __future__ import annotations

from functools import partial

import pytest

from tests.integration.services import cluster as harness
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start

TEXT = "@app:name('Same') define stream In (v int); from In select count() as n insert into Out;"


async def test_an_app_of_the_same_name_has_logs_leases_and_letters_of_its_own(
    cluster_of: Start,
) -> None:
    """Whichever tests a worker has run before."""
    for _ in range(2):
        async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
            app = await cluster.deploy(TEXT)
            bus = cluster.watcher.bus
            await bus.ingress.publish(app, "In", b'{"v": "x"}')
            assert len(await until(partial(bus.dead_letters.read, app), "the dead letter")) == 1
            await cluster.send(app, "In", {"v": 1})
            assert [row.data for row in await cluster.published_count(app, 1)] == [(1,)]
            await cluster.crash("processor-1")


async def test_what_is_waited_for_in_vain_is_told_with_what_was_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though it is the look itself that does not end."""
    monkeypatch.setattr(harness, "WAIT_MS", 50)
    looks = []

    async def never() -> None:
        looks.append("a look")
        await harness.CLOCK.sleep_ms(60_000)

    with pytest.raises(AssertionError, match="a miracle; seen last: a look"):
        await until(never, "a miracle", seen=lambda: looks[-1])
