"""A real provider from end to end: the console's log-in by code with PKCE, the command's by a
device, tokens at the doors, keys that change, and an account that is closed.

The provider is django-oauth-toolkit (tests/openid/toolkit.py); what no good provider does is tried
with the one beside it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest

from lockstep.cli.addresses import SESSION_FILE
from tests.contract.patience import eventually
from tests.integration.openid.test_console import COOKIE, OWN, browsing
from tests.openid.toolkit import COMMAND, CONSOLE, SECRET, Toolkit, Visitor, running_toolkit
from tests.unit.services.suite import Doors, bearer, running

ROLES = "staff=view"
SHORT_S = 40
"""So long a token is good where its end is waited for; commands refresh 30 s before it."""


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[Toolkit]:
    """Whose access tokens are good for a short time."""
    async with running_toolkit(tmp_path, OWN, lives_s=SHORT_S) as found:
        yield found


async def signed_in(browser: httpx.AsyncClient, provider: Toolkit) -> httpx.Response:
    """The person logs in at the provider, agrees there, and comes back."""
    begun = await browser.get("/signin", params={"to": "/nodes"})
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(provider.issuer))
    async with httpx.AsyncClient() as outside:
        back = await Visitor(outside).agree(begun.headers["location"], origin)
    assert back.startswith(f"{OWN}/signin/done?")
    given = {name: values[0] for name, values in parse_qs(urlsplit(back).query).items()}
    done = await browser.get("/signin/done", params=given)
    assert done.status_code == 200, done.text
    return done


async def test_a_person_signs_in_to_the_console_and_out(provider: Toolkit) -> None:
    """With the provider's forms; its access token is what the suite's doors judge, too."""
    given = provider.settings(CONSOLE, roles=ROLES, client_secret=SECRET)
    async with browsing(given) as (browser, suite):
        done = await signed_in(browser, provider)
        assert 'content="0;url=/nodes"' in done.text
        token = browser.cookies[COOKIE]
        assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
        status, me = await suite.ask(bearer(token), "GET", "/v1/me")
        assert (status, me["kind"], me["name"]) == (200, "person", "ann")
        assert me["grants"] == [{"role": "view", "app": "*"}]
        assert (await suite.ask(bearer(token), "DELETE", "/v1/apps/A"))[0] == 403
        assert (await suite.ask(bearer(token[:-8] + "AAAAAAAA"), "GET", "/v1/me"))[0] == 401
        left = await browser.post("/logout")
        assert f"{provider.issuer}/logout/?client_id={CONSOLE}" in left.text
        assert COOKIE not in browser.cookies


async def test_tokens_of_both_keys_are_good_when_the_provider_changes_its_key(
    provider: Toolkit,
) -> None:
    """The new key is looked for at the first token that names it."""
    given = provider.settings(CONSOLE, roles=ROLES, client_secret=SECRET, keys_again_ms="1")
    async with browsing(given) as (browser, suite):
        await signed_in(browser, provider)
        before = browser.cookies[COOKIE]
        await provider.rotate()
        await signed_in(browser, provider)
        after = browser.cookies[COOKIE]
        kids = {jwt.get_unverified_header(one)["kid"] for one in (before, after)}
        assert len(kids) == 2
        for token in (before, after):
            assert (await suite.ask(bearer(token), "GET", "/v1/me"))[0] == 200


async def test_a_person_signs_in_to_the_command_and_is_out_when_the_account_is_closed(
    provider: Toolkit, tmp_path: Path
) -> None:
    """By the device flow, with refresh tokens that are good once; out with the token's end."""
    given = provider.settings(COMMAND, roles=ROLES, leeway_ms="0")
    async with running("coordinator", **given) as (doors, _):
        run = _command(doors, tmp_path / "kept")
        assert await run("login", visits=provider) == (0, "logged in as ann")
        path = tmp_path / "kept" / SESSION_FILE
        first = json.loads(path.read_text())
        assert (await run("list", "--json"))[0] == 0
        path.write_text(json.dumps({**first, "expires_ms": 0}))  # as if it were about to run out
        assert (await run("list", "--json"))[0] == 0
        second = json.loads(path.read_text())
        assert second["refresh_token"] != first["refresh_token"]
        await provider.set_active("ann", active=False)
        path.write_text(json.dumps({**second, "expires_ms": 0}))
        code, said = await run("list")
        assert (code, "lockstep login" in said) == (2, True), said

        async def out() -> bool:
            return (await doors.ask(bearer(second["token"]), "GET", "/v1/me"))[0] == 401

        async with asyncio.timeout(60):
            await eventually(out)


async def test_a_log_out_of_the_command_takes_the_refresh_token_back(
    provider: Toolkit, tmp_path: Path
) -> None:
    """At the provider: whoever has copied it gets nothing for it."""
    given = provider.settings(COMMAND, roles=ROLES)
    async with running("coordinator", **given) as (doors, _):
        run = _command(doors, tmp_path / "kept")
        assert (await run("login", visits=provider))[0] == 0
        kept = json.loads((tmp_path / "kept" / SESSION_FILE).read_text())
        assert await run("logout") == (0, "logged out")
        form = {
            "grant_type": "refresh_token", "client_id": COMMAND,
            "refresh_token": kept["refresh_token"],
        }  # fmt: skip
        async with httpx.AsyncClient() as thief:
            answer = await thief.post(kept["token_endpoint"], data=form)
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def _command(doors: Doors, folder: Path) -> Callable[..., Awaitable[tuple[int, str]]]:
    """`lockstep` in a folder of its own; gives the exit code and the last line."""
    folder.mkdir()
    code = "from lockstep.cli import main; main()"

    async def run(*words: str, visits: Toolkit | None = None) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, "--url", doors.url, "--directory", str(folder), *words,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        if visits is not None:
            assert process.stdout is not None
            first = (await process.stdout.readline()).decode()
            assert first.startswith("Open "), first
            address = first.removeprefix("Open ").strip()
            told = (await process.stdout.readline()).decode().split()[-1]
            async with httpx.AsyncClient() as outside:
                await Visitor(outside).agree(address, visits.issuer[:20], user_code=told)
        said, _ = await process.communicate()
        assert process.returncode is not None
        return process.returncode, (said.decode().strip().splitlines() or [""])[-1]

    return run
