"""A provider as a process knows it: keys that are fetched, kept, and looked for again."""

from __future__ import annotations

import asyncio
import time

import pytest

from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.openid import Provider, ProviderError, provider_of
from lockstep.rights import StrangerError
from lockstep.settings import SettingsError, load_settings
from lockstep.telemetry import get_logger
from tests.openid.provider import OpenIdServer, SigningKey, serving


def provider(server: OpenIdServer, clock: VirtualClock, **more: str) -> Provider:
    """That goes by the server."""
    return Provider(load_settings(server.settings(**more)).oidc, clock, get_logger())


def now() -> VirtualClock:
    """Begins today."""
    return VirtualClock(int(time.time() * 1000))


async def test_a_new_key_is_looked_for_but_not_at_every_token() -> None:
    """Whoever names keys that are not there cannot make the provider be asked without end."""
    async with serving() as server:
        clock = now()
        known = provider(server, clock)
        assert (await known.person(server.token())).name == "ann"
        second = SigningKey("second", "ES256")
        for _ in range(5):
            with pytest.raises(StrangerError, match="does not publish"):
                await known.person(server.token(key=second))
        assert server.fetched == 1
        server.keys = [second]
        await clock.advance_ms(10_000)
        asked = [known.person(server.token(key=second)) for _ in range(5)]
        assert {one.name for one in await asyncio.gather(*asked)} == {"ann"}
        assert server.fetched == 2
        with pytest.raises(StrangerError, match="does not publish"):
            await known.person(server.token())


async def test_what_cannot_be_the_providers_asks_for_no_keys() -> None:
    """Wrong issuers and algorithms are seen before."""
    async with serving() as server:
        known = provider(server, now())
        for token in (server.token(iss="http://evil.example"), server.token(aud="x" * 9_000)):
            with pytest.raises(StrangerError):
                await known.person(token)
        assert server.fetched == 0


async def test_keys_are_kept_while_the_provider_is_away_and_not_for_ever() -> None:
    """A process that never reached it says so: try again."""
    async with serving() as server:
        clock = now()
        known, late = provider(server, clock), provider(server, clock)
        await known.person(server.token())
        server.away = True
        with pytest.raises(UnavailableError, match="cannot be reached"):
            await late.person(server.token())
        running = asyncio.create_task(known.run())
        await clock.advance_ms(86_400_000)
        token = server.token(exp=clock.now_ms() // 1000 + 600)
        assert (await known.person(token)).name == "ann"
        await clock.advance_ms(1)
        with pytest.raises(UnavailableError):
            await known.person(token)
        running.cancel()


async def test_a_token_without_a_keys_id_is_checked_by_the_only_key() -> None:
    """With several it is refused."""
    async with serving() as server:
        clock = now()
        known = provider(server, clock)
        unnamed = server.key
        unnamed.identity = ""
        assert (await known.person(server.token(key=unnamed))).name == "ann"
        server.keys = [unnamed, SigningKey("second")]
        other = provider(server, clock)
        with pytest.raises(StrangerError, match="does not publish"):
            await other.person(server.token(key=unnamed))


@pytest.mark.parametrize("name", ["", "signing"])
async def test_a_key_that_was_exchanged_under_the_same_name_or_without_one_is_looked_for(
    name: str,
) -> None:
    """But not at every token: anybody can send one with a wrong signature."""
    async with serving() as server:
        clock = now()
        known = provider(server, clock)
        server.key = SigningKey(name)
        server.keys = [server.key]
        assert (await known.person(server.token())).name == "ann"
        server.key = SigningKey(name)
        for _ in range(5):
            with pytest.raises(StrangerError, match="signature"):
                await known.person(server.token())
        assert server.fetched == 1
        server.keys = [server.key]
        await clock.advance_ms(10_000)
        assert (await known.person(server.token())).name == "ann"
        assert server.fetched == 2
        await clock.advance_ms(10_000)
        forged = server.token(key=SigningKey(name))
        for _ in range(5):
            with pytest.raises(StrangerError, match="signature"):
                await known.person(forged)
        assert server.fetched == 3


async def test_a_document_of_another_issuer_is_not_gone_by() -> None:
    """Its keys are nobody's."""
    async with serving() as server:
        server.claimed_issuer = "http://127.0.0.1/other"
        with pytest.raises(UnavailableError):
            await provider(server, now()).person(server.token())
        assert server.fetched == 0


def test_a_provider_is_asked_by_https_beyond_the_loopback() -> None:
    """Keys that can be changed on their way let anybody in."""
    given = {"LOCKSTEP_OIDC__ISSUER": "http://login.example", "LOCKSTEP_OIDC__AUDIENCE": "a"}
    with pytest.raises(ProviderError, match="https alone"):
        provider_of(load_settings(given).oidc, now(), get_logger())
    assert provider_of(load_settings({}).oidc, now(), get_logger()) is None


@pytest.mark.parametrize(
    "given",
    [
        {"ISSUER": "https://login.example"},
        {"AUDIENCE": "lockstep"},
        {"ALGORITHMS": "RS256,HS256"},
        {"ALGORITHMS": "none"},
        {"ALGORITHMS": ""},
        {"MAX_TOKEN_BYTES": "100000"},
        {"LEEWAY_MS": "86400000"},
    ],
)
def test_settings_that_would_let_strangers_in_are_refused(given: dict[str, str]) -> None:
    """An issuer without an audience, algorithms with a shared secret, leeway without a bound."""
    with pytest.raises(SettingsError):
        load_settings({f"LOCKSTEP_OIDC__{name}": value for name, value in given.items()})
