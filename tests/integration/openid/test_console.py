"""Signing in to the console at a provider: what a browser is sent, and what is refused."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from fastapi import FastAPI

from lockstep.cli.addresses import Addresses
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.frame.openid import Provider
from lockstep.settings import load_settings
from lockstep.telemetry import get_logger
from lockstep_services.console import login
from lockstep_services.console.openid import SignIn
from lockstep_services.console.suite import Doors
from tests.openid.provider import CLIENT, OpenIdServer, SigningKey, serving
from tests.unit.services.suite import Doors as Asking
from tests.unit.services.suite import bearer, running

COOKIE = "lockstep_console"
OWN = "https://console.test"


@contextlib.asynccontextmanager
async def browsing(given: Mapping[str, str]) -> AsyncIterator[tuple[httpx.AsyncClient, Asking]]:
    """A browser's client of a console with these settings, and the coordinator behind it."""
    async with running("coordinator", **given) as (suite, _):
        settings = load_settings(given).oidc
        provider = Provider(settings, SystemClock(), get_logger())
        application = FastAPI()
        signing = SignIn(provider, settings, SystemRandomness(), OWN)
        signing.add_to(application)
        login.add_to(application, signing.left)
        doors = Doors.open(Addresses(suite.url, suite.url, suite.url))
        application.state.doors = doors
        transport = httpx.ASGITransport(app=application)
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as browser:
            yield browser, suite
        await doors.session.close()


@contextlib.asynccontextmanager
async def console() -> AsyncIterator[tuple[OpenIdServer, httpx.AsyncClient, Asking]]:
    """The same with a provider, and that."""
    async with serving() as server:
        given = server.settings(roles="staff=view", client_id=CLIENT)
        async with browsing(given) as (browser, suite):
            yield server, browser, suite


async def agreed(browser: httpx.AsyncClient, to: str = "/apps/Hot") -> Mapping[str, str]:
    """What the provider sends the browser back with."""
    begun = await browser.get("/signin", params={"to": to})
    assert begun.status_code == 303
    said = begun.headers["set-cookie"].lower()
    assert all(word in said for word in ("httponly", "samesite=lax", "secure", "path=/signin"))
    async with httpx.AsyncClient() as outside:
        back = urlsplit((await outside.get(begun.headers["location"])).headers["location"])
    assert f"{back.scheme}://{back.netloc}{back.path}" == f"{OWN}/signin/done"
    return {name: values[0] for name, values in parse_qs(back.query).items()}


async def test_a_person_signs_in_and_out() -> None:
    """With a cookie that no script reads, for as long as the token; out of the provider, too."""
    async with console() as (server, browser, suite):
        assert "/signin?to=/nodes" in (await browser.get("/login?to=/nodes")).text
        done = await browser.get("/signin/done", params=await agreed(browser))
        assert (done.status_code, 'content="0;url=/apps/Hot"' in done.text) == (200, True)
        said = next(one for one in done.headers.get_list("set-cookie") if COOKIE in one).lower()
        assert all(w in said for w in ("httponly", "samesite=strict", "secure", "max-age=300"))
        me = await suite.ask(bearer(browser.cookies[COOKIE]), "GET", "/v1/me")
        assert (me[1]["kind"], me[1]["name"]) == ("person", "ann")
        left = await browser.post("/logout")
        assert f"{server.issuer}/leave?client_id={CLIENT}&amp;post_logout" in left.text
        assert COOKIE not in browser.cookies


@pytest.mark.parametrize(
    "to", [f"{to}evil.example/" for to in ("https://", "//", "/\\", "/\t/", "/\t\\")]
)
async def test_nobody_is_led_to_another_site(to: str) -> None:
    """The target is a path of the console."""
    async with console() as (_, browser, _suite):
        done = await browser.get("/signin/done", params=await agreed(browser, to))
        assert (done.status_code, 'content="0;url=/"' in done.text) == (200, True)
        assert "evil" not in done.text


async def test_an_answer_counts_once_and_in_the_browser_that_asked() -> None:
    """Another state, one that was used, a code of somebody else's log-in."""
    async with console() as (_, browser, _suite):
        answer = await agreed(browser)
        wrong = await browser.get("/signin/done", params={**answer, "state": "x"})
        assert (wrong.status_code, COOKIE in browser.cookies) == (401, False)
        again = await browser.get("/signin/done", params=answer)
        assert (again.status_code, "not begun in this browser" in again.text) == (401, True)
        mine = await agreed(browser)
        stolen = {**mine, "code": answer["code"]}
        refused = await browser.get("/signin/done", params=stolen)
        assert (refused.status_code, COOKIE in browser.cookies) == (401, False)


@pytest.mark.parametrize(
    "changed",
    [{"nonce": "other"}, {"nonce": None}, {"aud": "lockstep"}, {"exp": 1}, {"azp": "another"},
     {"iss": "https://evil.example"}, {"key": SigningKey("first")}],
)  # fmt: skip
async def test_an_id_token_that_is_not_of_this_log_in_lets_nobody_in(
    changed: dict[str, Any],
) -> None:
    """Nonce, audience, time, issuer, signature."""
    async with console() as (server, browser, _):
        server.id_claims = changed
        refused = await browser.get("/signin/done", params=await agreed(browser))
        assert (refused.status_code, COOKIE in browser.cookies) == (401, False)


async def test_who_has_no_role_and_whose_token_fits_no_cookie_is_told_so() -> None:
    """The page says it."""
    async with console() as (server, browser, _):
        for groups, status, says in (([], 403, "no role here"), (["x" * 4_000], 401, "too long")):
            server.granted = {"groups": groups}
            refused = await browser.get("/signin/done", params=await agreed(browser))
            assert (refused.status_code, says in refused.text) == (status, True)
            assert COOKIE not in browser.cookies


async def test_what_the_provider_says_is_passed_on_with_the_button_to_try_again() -> None:
    """That it refuses, that the client's secret is wrong, that it is away."""
    async with console() as (server, browser, _):
        server.says = {"error": "access_denied", "error_description": "<b>not</b> today"}
        refused = await browser.get("/signin/done", params=await agreed(browser))
        assert "refuses: access_denied &lt;b&gt;not&lt;/b&gt; today" in refused.text
        assert (refused.status_code, "/signin?to=/apps/Hot" in refused.text) == (401, True)
        server.says, server.secret = {}, "another"
        refused = await browser.get("/signin/done", params=await agreed(browser))
        assert (refused.status_code, "401: invalid_client" in refused.text) == (401, True)
        answer, server.away = await agreed(browser), True
        away = await browser.get("/signin/done", params=answer)
        assert (away.status_code, "token answers 503" in away.text) == (503, True)
        assert COOKIE not in browser.cookies


async def test_a_provider_that_was_never_reached_is_told() -> None:
    """At the button; the form still works."""
    async with console() as (server, browser, _):
        server.away = True
        away = await browser.get("/signin")
        assert (away.status_code, "cannot be reached" in away.text) == (503, True)
        assert "/signin?to=/" in away.text
