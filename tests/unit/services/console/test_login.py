"""Logging in to the console against a real coordinator: users, invitations, tokens, logging out."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from httpx import ASGITransport, AsyncClient

from lockstep.cli.addresses import Addresses
from lockstep_services.console import login
from lockstep_services.console.suite import Doors
from tests.unit.services.suite import CLUSTER, bearer, running
from tests.unit.services.suite import Doors as Asking

PASSWORD = "correct horse battery"
COOKIE = "lockstep_console"


@pytest.fixture
async def suite() -> AsyncIterator[Asking]:
    """A coordinator that asks for credentials."""
    async with running("coordinator") as (found, _):
        yield found


@pytest.fixture
async def console(suite: Asking) -> AsyncIterator[FastAPI]:
    """The log-in of a console in front of it."""
    found = FastAPI()
    login.add_to(found, cluster_token=CLUSTER)
    doors = Doors.open(Addresses(suite.url, suite.url, suite.url))
    found.state.doors = doors
    yield found
    await doors.session.close()


def browser(console: FastAPI, address: str) -> AsyncClient:
    """At that address."""
    transport = ASGITransport(app=console, client=(address, 4711))
    return AsyncClient(transport=transport, base_url="https://console.test")


@pytest.fixture
async def door(console: FastAPI) -> AsyncIterator[AsyncClient]:
    """A browser."""
    async with browser(console, "10.0.0.1") as client:
        yield client


async def add(suite: Asking, user: str, role: str, **body: str) -> dict[str, str]:
    """By the cluster's token."""
    given = {"role": role, **body}
    status, answer = await suite.ask(bearer(CLUSTER), "PUT", f"/v1/users/{user}", given)
    assert status == 201
    found: dict[str, str] = answer
    return found


async def test_a_user_gets_a_session_in_a_cookie_that_no_script_reads(
    suite: Asking, door: AsyncClient
) -> None:
    """It is the suite's own, and logging out ends it there."""
    await add(suite, "root", "administer", password=PASSWORD)
    form = {"user": "root", "password": PASSWORD, "to": "/apps/Hot"}
    entered = await door.post("/login", data=form)
    assert (entered.status_code, entered.headers["location"]) == (303, "/apps/Hot")
    said = entered.headers["set-cookie"].lower()
    assert all(word in said for word in ("httponly", "samesite=strict", "secure"))
    session = bearer(door.cookies[COOKIE])
    assert (await suite.ask(session, "GET", "/v1/me"))[1]["name"] == "root"
    assert (await door.post("/logout")).status_code == 303
    assert (await suite.ask(session, "GET", "/v1/me"))[0] == 401
    assert COOKIE not in door.cookies


@pytest.mark.parametrize(
    "form",
    [{"user": "root", "password": "wrong"}, {"user": "nobody", "password": PASSWORD},
     {"user": "", "password": ""}],
)  # fmt: skip
async def test_a_wrong_name_and_a_wrong_password_look_alike(
    suite: Asking, door: AsyncClient, form: dict[str, str]
) -> None:
    """No cookie, and the page again."""
    await add(suite, "root", "administer", password=PASSWORD)
    refused = await door.post("/login", data=form)
    assert refused.status_code == 401
    assert "no user has this name and this password" in refused.text
    assert "set-cookie" not in refused.headers


async def test_who_guesses_is_told_to_wait(suite: Asking, door: AsyncClient) -> None:
    """By the suite; the console passes it on."""
    await add(suite, "root", "administer", password=PASSWORD)
    statuses = [
        (await door.post("/login", data={"user": "root", "password": "wrong"})).status_code
        for _ in range(11)
    ]
    assert statuses == [401] * 10 + [429]


async def test_who_guesses_locks_nobody_else_out(
    suite: Asking, console: FastAPI, door: AsyncClient
) -> None:
    """The console says from which browser a password comes: the others wait for nothing."""
    await add(suite, "root", "administer", password=PASSWORD)
    for _ in range(11):
        await door.post("/login", data={"user": "root", "password": "wrong"})
    async with browser(console, "10.0.0.2") as other:
        entered = await other.post("/login", data={"user": "root", "password": PASSWORD})
    assert entered.status_code == 303


async def test_a_token_is_good_too_and_an_unknown_one_is_not(
    suite: Asking, door: AsyncClient
) -> None:
    """Also of somebody who may only send: the pages then say what is missing."""
    body = {"name": "sensor", "grants": [{"role": "send", "app": "Hot"}]}
    _, made = await suite.ask(bearer(CLUSTER), "POST", "/v1/tokens", body)
    for token, status in ((CLUSTER, 303), (made["token"], 303), ("nope", 401), ("\x07x", 401)):
        assert (await door.post("/login", data={"token": token})).status_code == status


async def test_whoever_was_invited_chooses_a_password_once(
    suite: Asking, door: AsyncClient
) -> None:
    """The link's secret stands behind its `#`, which no server is sent."""
    invitation = (await add(suite, "root", "administer"))["invitation"]
    page = (await door.get("/invitation")).text
    assert "invitation.js" in page
    form = {"invitation": invitation, "password": PASSWORD, "again": PASSWORD + "!"}
    differ = await door.post("/invitation", data=form)
    assert (differ.status_code, "differ" in differ.text) == (400, True)
    short = await door.post("/invitation", data={**form, "password": "x", "again": "x"})
    assert (short.status_code, "12 to 256 characters" in short.text) == (400, True)
    form["again"] = PASSWORD
    assert (await door.post("/invitation", data=form)).status_code == 303
    session = bearer(door.cookies[COOKIE])
    assert (await suite.ask(session, "GET", "/v1/me"))[1]["name"] == "root"
    assert (await door.post("/invitation", data=form)).status_code == 401
