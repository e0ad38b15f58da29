"""Users that an identity provider keeps, on real servers and several processes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from tests.integration.services.cluster import CLOCK, Cluster, until
from tests.integration.services.conftest import Start

CLUSTER: Final = "the-cluster-secret"
PASSWORD: Final = "correct horse battery"
REFRESH_MS: Final = 500
SLACK_MS: Final = 10_000
"""On a machine that stalls: without a look at the store nobody would be out in an hour."""
SETTINGS: Final = {
    "LOCKSTEP_SERVER__TOKEN": CLUSTER,
    "LOCKSTEP_RIGHTS__REFRESH_MS": str(REFRESH_MS),
}
USERS: Final = "/scim/v2/Users"
GROUPS: Final = "/scim/v2/Groups"


async def test_a_deactivated_user_is_out_of_all_processes_and_stays_so(cluster_of: Start) -> None:
    """With sessions and passwords; also after another coordinator has started, which reads what
    PostgreSQL holds."""
    async with cluster_of("coordinator-1", "receiver", "presenter", **SETTINGS) as cluster:
        root = _bearer(CLUSTER)
        body = {"role": "administer", "password": PASSWORD}
        await _told(cluster, "PUT", "/v1/users/root", body, root)
        asked = {"name": "idp", "grants": [{"role": "administer"}]}
        token = (await _told(cluster, "POST", "/v1/tokens", asked, root))["token"]
        idp = _bearer(token)
        ann = (await _told(cluster, "POST", USERS, _user(), idp))["id"]
        group = {"displayName": "Lockstep Ops", "members": [{"value": ann}]}
        ops = (await _told(cluster, "POST", GROUPS, group, idp))["id"]
        grant = {"group": "Lockstep-Ops", "role": "view"}
        await _told(cluster, "POST", "/v1/grants", grant, root)
        login = {"user": "ann@corp.com", "password": PASSWORD}
        session = _bearer((await _told(cluster, "POST", "/v1/login", login, {}))["token"])
        doors = ("coordinator", "receiver", "presenter")
        for shown in (session, _basic("ann@corp.com")):
            for service in doors:
                await _until_status(cluster, service, shown, 200)
        change = {"Operations": [{"op": "Replace", "path": "active", "value": "False"}]}
        await _told(cluster, "PATCH", f"{USERS}/{ann}", change, idp)
        began_ms = CLOCK.monotonic_ms()
        for shown in (session, _basic("ann@corp.com")):
            for service in doors:
                await _until_status(cluster, service, shown, 401)
        assert CLOCK.monotonic_ms() - began_ms < REFRESH_MS + SLACK_MS
        await cluster.stop("coordinator-1")
        await cluster.start("coordinator-2")
        shown = await _told(cluster, "GET", f"{USERS}/{ann}", None, idp)
        assert (shown["active"], shown["externalId"]) == (False, "e-1")
        assert shown["groups"] == [{"value": ops, "display": "Lockstep Ops"}]
        await _until_status(cluster, "coordinator", session, 401)
        status, _ = await cluster.call("DELETE", "coordinator", f"{USERS}/{ann}", headers=idp)
        assert status == 204
        status, _ = await cluster.call("GET", "coordinator", f"{USERS}/{ann}", headers=idp)
        assert status == 404
        assert (await _told(cluster, "GET", f"{GROUPS}/{ops}", None, idp))["members"] == []
        entries = (await _told(cluster, "GET", "/v1/audit", None, root))["entries"]
        noted = {(each["who"], each["method"], each["path"]) for each in entries}
        about = f"{USERS}/{ann} (user ann@corp.com, deactivated)"
        assert {("token idp", "PATCH", about), ("token idp", "DELETE", about)} <= noted


async def _told(
    cluster: Cluster, method: str, path: str, body: Any, shown: Mapping[str, str]
) -> Any:
    """What a coordinator answers to something that has to be done."""
    status, answer = await cluster.call(method, "coordinator", path, json=body, headers=shown)
    assert status in (200, 201), (path, status, answer)
    return answer


async def _until_status(
    cluster: Cluster, service: str, shown: Mapping[str, str], expected: int
) -> None:
    seen = 0

    async def answers() -> bool:
        nonlocal seen
        seen, _ = await cluster.call("GET", service, "/openapi.json", headers=shown)
        return seen == expected

    await until(answers, f"{expected} of the {service}", seen=lambda: seen)


def _user() -> dict[str, Any]:
    return {"userName": "ann@corp.com", "externalId": "e-1", "password": PASSWORD, "active": True}


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def _basic(user: str) -> dict[str, str]:
    shown = base64.b64encode(f"{user}:{PASSWORD}".encode()).decode()
    return {"Authorization": f"Basic {shown}"}
