"""Versions of an app in a running suite: each deployed text is one, until the app is purged."""

from __future__ import annotations

from typing import Any

from tests.integration.services.cluster import Cluster
from tests.integration.services.conftest import Start

TOKEN = "v" * 40
TEXT = """@app:name('Versioned') define stream In (a int);
@sink(type='http', publisher.url='${{secret:hook}}', @map(type='json')) define stream Out (n long);
from In select {n} as n insert into Out;"""
NODES = ("coordinator", "processor-1")
PATH = "/v1/apps/Versioned"


async def versions(cluster: Cluster, **headers: str) -> Any:
    """As the coordinator lists them."""
    status, answer = await cluster.call(
        "GET", "coordinator", f"{PATH}/versions", headers=headers or None
    )
    assert status == 200, answer
    return answer["versions"]


async def test_each_deployed_text_is_kept_and_can_be_gone_back_to(cluster_of: Start) -> None:
    """Under its number, with how it came; the same text again is no other version; undeploying
    leaves all, purging none."""
    async with cluster_of(*NODES) as cluster:
        first, second = TEXT.format(n="1L"), TEXT.format(n="2L")
        for text in (first, second, second, first):
            status, answer = await cluster.asked("PUT", "/v1/apps", json={"text": text})
            assert status in (200, 201), answer
        found = await versions(cluster)
        assert [(one["number"], one["how"], one["deployed"]) for one in found] == [
            (3, "restore", True), (2, "upgrade", False), (1, "fresh", False)
        ]  # fmt: skip
        assert {one["who"] for one in found} == {"anybody"}
        assert found[0]["version"] == found[2]["version"] == answer["version"]
        _, one = await cluster.call("GET", "coordinator", f"{PATH}/versions/2")
        assert (one["text"], one["size_bytes"]) == (second, len(second))
        status, answer = await cluster.call("GET", "coordinator", f"{PATH}/versions/4")
        assert (status, answer["hint"]) == (404, "kept are 1 to 3")
        for wrong in ("0", "-1", "x", "9" * 400):
            status, _ = await cluster.call("GET", "coordinator", f"{PATH}/versions/{wrong}")
            assert status == 400, wrong
        await cluster.call("DELETE", "coordinator", PATH)
        assert [one["deployed"] for one in await versions(cluster)] == [False] * 3
        await cluster.call("DELETE", "coordinator", f"{PATH}?purge=true")
        status, answer = await cluster.call("GET", "coordinator", f"{PATH}/versions")
        assert (status, answer["detail"]) == (404, "no app named 'Versioned' is deployed, or was")


async def test_so_many_versions_are_kept_as_the_settings_say(cluster_of: Start) -> None:
    """The oldest ones go, and their numbers with them."""
    async with cluster_of(*NODES, LOCKSTEP_COORDINATOR__VERSIONS_KEEP="2") as cluster:
        for number in range(1, 5):
            text = TEXT.format(n=f"{number}L")
            status, answer = await cluster.asked("PUT", "/v1/apps", json={"text": text})
            assert status in (200, 201), answer
        assert [one["number"] for one in await versions(cluster)] == [4, 3]
        status, answer = await cluster.call("GET", "coordinator", f"{PATH}/versions/1")
        assert (status, answer["hint"]) == (404, "kept are 3 to 4")


async def test_versions_are_for_those_who_may_view_the_app(cluster_of: Start) -> None:
    """And they say who has deployed."""
    async with cluster_of(*NODES, LOCKSTEP_SERVER__TOKEN=TOKEN) as cluster:
        cluster_says = {"Authorization": f"Bearer {TOKEN}"}

        async def token(name: str, role: str, app: str | None) -> dict[str, str]:
            grant = {"role": role, "app": app}
            status, answer = await cluster.call(
                "POST", "coordinator", "/v1/tokens", headers=cluster_says,
                json={"name": name, "grants": [grant]},
            )  # fmt: skip
            assert status == 201, answer
            return {"Authorization": f"Bearer {answer['token']}"}

        ann = await token("ann", "deploy", "Versioned")
        bob = await token("bob", "view", "Another")
        text = TEXT.format(n="1L")
        status, answer = await cluster.call(
            "PUT", "coordinator", "/v1/apps", json={"text": text}, headers=ann
        )
        assert status == 201, answer
        (one,) = await versions(cluster, **ann)
        assert one["who"] == "token ann"
        for path in ("versions", "versions/1"):
            status, _ = await cluster.call("GET", "coordinator", f"{PATH}/{path}", headers=bob)
            assert status == 403, path
            status, _ = await cluster.call("GET", "coordinator", f"{PATH}/{path}")
            assert status == 401, path
        status, answer = await cluster.call("GET", "coordinator", f"{PATH}/versions/1", headers=ann)
        assert "${secret:hook}" in answer["text"]
