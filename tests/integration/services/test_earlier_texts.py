"""Texts that an earlier release took, and that would be refused today."""

from __future__ import annotations

from dataclasses import replace

from lockstep.simulating.streams import columns_of
from lockstep.store import Written
from lockstep_services.coordinator.desired import version_of
from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

GOOD = """
@app:name('Early')
define stream In (k string, v int);
@PrimaryKey('k') define table T (k string, v int);
from In select k, v insert into T;
from In join T on In.k == T.k select In.k, T.v insert into Out;
"""
MISSPELT = GOOD.replace("@PrimaryKey(", "@PrimaryKeys(")


async def as_earlier(cluster: Cluster, text: str) -> None:
    """Deployed past the checks of this release, over what is there."""
    deployments = cluster.watcher.store.deployments
    before = await deployments.get("Early")
    assert before is not None
    life = before.life.next
    following = replace(before, text=text, version=version_of(text), life=life)
    assert await deployments.put(following, epoch=10**15) == Written()


async def test_an_app_that_runs_is_not_stopped_by_an_update(cluster_of: Start) -> None:
    """It goes on with what its text has always meant; deployed anew it is refused with a hint."""
    async with cluster_of("coordinator", "processor-1", "receiver") as cluster:
        app = await cluster.deploy(GOOD)
        await as_earlier(cluster, MISSPELT)
        await cluster.settled(app, 1, version=version_of(MISSPELT))
        for v in (1, 2):
            await cluster.send(app, "In", {"k": "a", "v": v})
        rows = await cluster.published_count(app, 3)
        # Without its key, the table keeps both rows.
        assert [row.data for row in rows] == [("a", 1), ("a", 1), ("a", 2)]
        status, told = await cluster.asked("GET", f"/v1/apps/{app}/asyncapi.json")
        assert (status, "In" in str(told)) == (200, True)
        assert columns_of(MISSPELT)["In"] == [("k", "string"), ("v", "int")]
        status, answer = await cluster.asked("POST", "/v1/validate", json={"text": MISSPELT})
        assert "did you mean '@PrimaryKey'?" in str(answer), (status, answer)
        status, answer = await cluster.asked("PUT", "/v1/apps", json={"text": MISSPELT})
        assert status == 400, answer
        assert "there is no annotation @PrimaryKeys" in str(answer)
