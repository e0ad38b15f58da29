"""SCIM as a client that none of us wrote uses it: a user's life, and a tester's findings.

Client and tester make hundreds of models when they are loaded, which takes seconds. So the process
that runs these tests loads them, and not each that collects tests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any, Final

import aiohttp
from httpx2 import Client

from tests.unit.services.suite import CLUSTER, Doors, bearer, running

PASSWORD: Final = "correct horse battery"
USER: Final = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP: Final = "urn:ietf:params:scim:schemas:core:2.0:Group"
NOT_SO: Final = {
    "random_url",  # what is no address of SCIM is answered as everywhere
    "search_with_attributes",  # POST /.search is not announced
    "check_remove_attribute",  # nobody is let in by what is left out: `active` is set, not removed
    "check_add_attribute",  # members come back with the names of users,
    "check_replace_attribute",  # which the tester did not send
}
"""What the tester expects and we do otherwise; the page says so."""
OUT_WITHIN_S: Final = 60.0


def _client(url: str) -> Any:
    from scim2_client.engines.httpx2 import SyncSCIMClient

    headers = {"Authorization": bearer(CLUSTER)}
    client = SyncSCIMClient(Client(base_url=f"{url}/scim/v2", headers=headers, timeout=60))
    client.discover()
    return client


async def _administrator(doors: Doors) -> None:
    body = {"role": "administer", "password": PASSWORD}
    assert (await doors.ask(bearer(CLUSTER), "PUT", "/v1/users/root", body))[0] == 201


def _provisioned(url: str) -> tuple[Any, Any]:
    client = _client(url)
    user, group = client.get_resource_model("User"), client.get_resource_model("Group")
    ann = client.create(user(user_name="ann@corp.com", password=PASSWORD, active=True))
    members = [{"value": ann.id}]
    ops = client.create(group.model_validate({"displayName": "Ops", "members": members}))
    return ann, ops


def _changed(url: str, identity: str, operation: dict[str, Any]) -> Any:
    client = _client(url)
    schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
    user = client.get_resource_model("User")
    return client.modify(user, identity, {"schemas": schemas, "Operations": [operation]})


def _removed(url: str, identity: str) -> Any:
    client = _client(url)
    return client.delete(client.get_resource_model("User"), identity)


async def test_a_user_is_provisioned_comes_in_and_is_out_when_revoked() -> None:
    """By a client from the package index; a log-in, a grant by the group, and the end of both."""
    async with running("coordinator") as (doors, _):
        await _administrator(doors)
        ann, ops = await asyncio.to_thread(_provisioned, doors.url)
        assert [one.value for one in ops.members] == [ann.id]
        grant = {"group": "Ops", "role": "view"}
        assert (await doors.ask(bearer(CLUSTER), "POST", "/v1/grants", grant))[0] == 200
        login = {"user": "ann@corp.com", "password": PASSWORD}
        status, answer = await doors.ask(None, "POST", "/v1/login", login)
        session = bearer(answer["token"])
        assert (status, (await doors.ask(session, "GET", "/v1/apps"))[0]) == (200, 200)
        off = {"op": "replace", "path": "active", "value": False}
        found = await asyncio.to_thread(_changed, doors.url, ann.id, off)
        assert found is None or not found.active
        async with asyncio.timeout(OUT_WITHIN_S):
            while (await doors.ask(session, "GET", "/v1/apps"))[0] != 401:
                await asyncio.sleep(0.02)
        assert (await doors.ask(None, "POST", "/v1/login", login))[0] == 401
        assert await asyncio.to_thread(_removed, doors.url, ann.id) is None
        async with aiohttp.ClientSession(headers={"Authorization": bearer(CLUSTER)}) as asking:
            answered = await asking.get(f"{doors.url}/scim/v2/Users/{ann.id}")
            assert answered.status == 404


async def test_a_tester_of_servers_finds_what_it_looks_for() -> None:
    """All that it tries, but for what is done otherwise on purpose."""
    from scim2_tester import check_server
    from scim2_tester.utils import Status

    async with running("coordinator") as (doors, _):
        await _administrator(doors)
        results = await asyncio.to_thread(lambda: check_server(_client(doors.url)))
    good = (Status.SUCCESS, Status.COMPLIANT, Status.ACCEPTABLE, Status.SKIPPED)
    wrong = {one.title: one.reason for one in results if one.status not in good}
    assert set(wrong) <= NOT_SO, wrong
    assert Counter(one.status for one in results)[Status.SUCCESS] > 50
