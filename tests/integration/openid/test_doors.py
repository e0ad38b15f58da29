"""Tokens of a provider at the doors of all services."""

from __future__ import annotations

import asyncio
import contextlib
import time

import aiohttp

from tests.openid.provider import OpenIdServer, SigningKey, serving
from tests.unit.services.suite import CLUSTER, bearer, running

ROLES = "staff=view, senders=send:A, admins=administer"
PLACES = [
    ("GET", "/v1/apps"),
    ("POST", "/v1/apps/A/streams/S/events"),
    ("GET", "/v1/apps/A/streams/S/latest"),
    ("GET", "/v1/live"),
    ("GET", "/openapi.json"),
    ("GET", "/metrics"),
]


def bad(server: OpenIdServer) -> dict[str, str]:
    """Tokens that nobody comes in with, by what is wrong with them."""
    return {
        "issuer": server.token(iss=server.issuer + "/"),
        "audience": server.token(aud="another"),
        "expired": server.token(exp=int(time.time()) - 60),
        "signature": server.token(key=SigningKey("first")),
        "does not publish": server.token(key=SigningKey("unknown")),
    }


async def test_every_door_takes_good_tokens_and_says_what_is_wrong_with_others() -> None:
    """401 with the reason, 403 where a role is missing; Lockstep's own token stays good."""
    async with (
        serving() as server,
        running(**server.settings(roles=ROLES)) as (doors, _),
    ):
        for says, token in bad(server).items():
            for method, path in PLACES:
                status, answer = await doors.ask(bearer(token), method, path)
                assert (status, says in answer["detail"]) == (401, True), (path, answer)
        ruling = bearer(server.token(preferred_username="root", groups=["admins"]))
        for method, path in PLACES:
            status, answer = await doors.ask(bearer(server.token(groups=[])), method, path)
            assert (status, answer["detail"]) == (403, "person ann has no role here"), path
            for shown in (ruling, bearer(CLUSTER)):
                assert (await doors.ask(shown, method, path))[0] not in (401, 403), path
        view = bearer(server.token())
        assert (await doors.ask(view, "GET", "/v1/apps"))[0] == 200
        status, answer = await doors.ask(view, "POST", "/v1/apps/A/streams/S/events", {})
        assert (status, answer["detail"]) == (
            403,
            "person ann has not the right to send on app 'A'",
        )
        status, me = await doors.ask(ruling, "GET", "/v1/me")
        assert (status, me["kind"], me["name"]) == (200, "person", "root")
        assert (await doors.ask(ruling, "PUT", "/v1/groups/g"))[0] == 201
        audit = (await doors.ask(ruling, "GET", "/v1/audit"))[1]
        assert {"person ann", "person root"} <= {entry["who"] for entry in audit["entries"]}


async def test_a_stream_of_events_ends_with_the_token() -> None:
    """Not before, and without a word from its reader."""
    async with (
        serving() as server,
        running(**server.settings(roles=ROLES, leeway_ms="0")) as (doors, _),
        aiohttp.ClientSession() as session,
    ):
        ruling = bearer(server.token(groups=["admins"]))
        text = "@app:name('A') define stream S (a int); from S select a insert into Out;"
        assert (await doors.ask(ruling, "PUT", "/v1/apps", {"text": text}))[0] in (200, 201)
        ends = int(time.time()) + 3
        headers = {"Authorization": bearer(server.token(exp=ends))}
        url = f"{doors.url}/v1/apps/A/streams/Out/sse"
        async with asyncio.timeout(30):
            while True:
                async with session.get(url, headers=headers) as response:
                    if response.status == 404:
                        await asyncio.sleep(0.05)
                        continue
                    assert response.status == 200
                    with contextlib.suppress(aiohttp.ClientError):
                        while await response.content.readany():
                            pass
                    break
        assert time.time() >= ends


async def test_a_door_with_a_provider_is_not_open() -> None:
    """Also without a token of the cluster and without users."""
    async with (
        serving() as server,
        running(LOCKSTEP_SERVER__TOKEN="", **server.settings(roles=ROLES)) as (doors, _),
    ):
        assert (await doors.ask(None, "GET", "/v1/apps"))[0] == 401
        assert (await doors.ask(bearer(server.token()), "GET", "/v1/apps"))[0] == 200


async def test_a_person_who_is_a_deactivated_user_is_nobody() -> None:
    """Whom SCIM deactivates is out with the provider's token, too, until activated again."""
    async with (
        serving() as server,
        running(**server.settings(roles=ROLES)) as (doors, _),
    ):
        await doors.ask(bearer(CLUSTER), "PUT", "/v1/users/root", {"role": "administer"})
        view = bearer(server.token())
        assert (await doors.ask(view, "GET", "/v1/apps"))[0] == 200
        user = {"userName": "Ann", "active": False}
        status, made = await doors.ask(bearer(CLUSTER), "POST", "/scim/v2/Users", user)
        assert status == 201
        assert (await doors.ask(view, "GET", "/v1/apps"))[0] == 401
        active = {"Operations": [{"op": "replace", "value": {"active": True}}]}
        await doors.ask(bearer(CLUSTER), "PATCH", f"/scim/v2/Users/{made['id']}", active)
        assert (await doors.ask(view, "GET", "/v1/apps"))[0] == 200
