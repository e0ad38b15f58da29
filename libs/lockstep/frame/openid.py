"""The OpenID Connect provider as a process knows it: its document and its keys, fetched now and
then, and kept while it is away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import aiohttp
import msgspec

from lockstep.clock import Clock
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import converted, from_json
from lockstep.frame.addresses import is_loopback
from lockstep.rights import Principal, StrangerError
from lockstep.rights.accounts import grant_of
from lockstep.rights.openid import (
    Key,
    SignatureError,
    Trust,
    claims_of,
    grants_of,
    header_of,
    keys_of,
    person,
)
from lockstep.settings import OidcSettings
from lockstep.telemetry import Logger
from lockstep.tls import TlsFiles, calling

DISCOVERY: Final = "/.well-known/openid-configuration"
MAX_ANSWER_BYTES: Final = 1_000_000
Judged = TypeVar("Judged")


class ProviderError(LockstepError):
    """Settings with which no provider can be asked."""

    fault = Fault.USER


class Document(msgspec.Struct):
    """What the provider says of itself, as far as it matters here."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str = ""
    token_endpoint: str = ""
    end_session_endpoint: str = ""


class Given(msgspec.Struct):
    """What a code was exchanged for."""

    access_token: str
    id_token: str
    expires_in: int = 300


class Refusal(msgspec.Struct):
    """Why there is no token, in OAuth's words."""

    error: str
    error_description: str = ""


def provider_of(settings: OidcSettings, clock: Clock, log: Logger) -> Provider | None:
    """None where the settings name none. ProviderError, AccountError."""
    return Provider(settings, clock, log) if settings.issuer else None


def trust_of(settings: OidcSettings) -> Trust:
    """AccountError for roles that there are not."""
    default = frozenset({grant_of(settings.default_role, None)} if settings.default_role else ())
    return Trust(
        settings.issuer,
        _listed(settings.audience),
        _listed(settings.algorithms),
        settings.leeway_ms,
        settings.user_claim,
        settings.roles_claim,
        grants_of(settings.roles),
        default,
        settings.max_token_bytes,
    )


class Provider:
    """Knows people by the provider's tokens. `run` keeps the keys fresh; a token that names a key
    that is not known, or that is signed with another, makes it look again, but not more often than
    the settings say."""

    def __init__(self, settings: OidcSettings, clock: Clock, log: Logger) -> None:
        self._settings = settings
        self._clock = clock
        self._log = log
        self._trust = trust_of(settings)
        self._tls = calling(TlsFiles(settings.ca_file)) or True
        self._looking = asyncio.Lock()
        self._keys: Sequence[Key] = ()
        self._document: Document | None = None
        self._read_ms: int | None = None
        self._looked_ms: int | None = None
        self._private(settings.issuer)

    async def person(self, token: str) -> Principal:
        """Whose token it is. StrangerError says what is wrong; UnavailableError where the keys are
        not known."""
        return await self._judged(
            token, lambda key: person(token, key, self._trust, self._clock.now_ms())
        )

    async def document(self) -> Document:
        """What it says of itself, with endpoints that a browser may be sent to; UnavailableError,
        ProviderError."""
        if self._document is None:
            await self._look_again()
        self._check_fresh()
        assert self._document is not None
        found = self._document
        if not found.authorization_endpoint or not found.token_endpoint:
            raise ProviderError("the provider has no sign-in with a browser")
        for url in filter(None, (found.authorization_endpoint, found.end_session_endpoint)):
            self._private(url)
        return found

    async def redeemed(self, form: dict[str, str], nonce: str) -> Given:
        """What a code is exchanged for, with an id token that is ours and of this log-in.
        StrangerError, UnavailableError."""
        client, secret = self._settings.client_id, self._settings.client_secret.get_secret_value()
        asked = {**form, "client_id": client} | ({"client_secret": secret} if secret else {})
        url = (await self.document()).token_endpoint
        try:
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_ms / 1000)
            async with aiohttp.ClientSession(timeout=timeout) as session:
                answer = await self._fetch(session, url, asked)
            given = converted(answer, Given, strict=False)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise UnavailableError(f"cannot ask the provider at {url}: {error}") from error
        except (ValueError, ProviderError) as error:
            raise StrangerError(f"the provider gives no token for this code: {error}") from error
        ours = replace(self._trust, audiences=frozenset({client}))
        claims, _ = await self._judged(
            given.id_token,
            lambda key: claims_of(given.id_token, key, ours, self._clock.now_ms()),
        )
        if claims.get("nonce") != nonce or claims.get("azp", client) != client:
            raise StrangerError("the provider's id token is of another log-in")
        return given

    async def _judged(self, token: str, judge: Callable[[Key], Judged]) -> Judged:
        """By the key as it is today: the provider may have another one under the same id, or
        without one."""
        key = await self._signing(token)
        try:
            return judge(key)
        except SignatureError:
            await self._look_again()
            newer = await self._signing(token)
            if newer == key:
                raise
            return judge(newer)

    async def _signing(self, token: str) -> Key:
        """The key that it says it is signed with."""
        identity, algorithm = header_of(token, self._trust)
        key = self._key(identity, algorithm)
        if key is None:
            await self._look_again()
            key = self._key(identity, algorithm)
        self._check_fresh()
        if key is None:
            raise StrangerError(
                "the token is signed with a key that the provider does not publish",
                hint="a new one is looked for every oidc.keys_again_ms",
            )
        return key

    async def run(self) -> None:
        """Fetches the keys for as long as the process lives."""
        while True:
            async with self._looking:
                is_read = await self._look()
            refresh_ms, again_ms = self._settings.keys_refresh_ms, self._settings.keys_again_ms
            await self._clock.sleep_ms(refresh_ms if is_read else again_ms)

    def _key(self, identity: str, algorithm: str) -> Key | None:
        """A token that names none may be signed with the only one."""
        fit = [key for key in self._keys if key.signs(algorithm)]
        if identity:
            return next((key for key in fit if key.id == identity), None)
        return fit[0] if len(fit) == 1 else None

    def _check_fresh(self) -> None:
        max_ms = self._settings.keys_stale_max_ms
        if self._read_ms is None or self._clock.monotonic_ms() - self._read_ms > max_ms:
            raise UnavailableError(
                "who this is cannot be told: the OpenID Connect provider cannot be reached",
                hint="Lockstep's own tokens and users are still taken",
            )

    async def _look_again(self) -> None:
        """For a key that is not known; anybody can ask for one, so not too often."""
        async with self._looking:
            again_ms = self._settings.keys_again_ms
            if self._looked_ms is None or self._clock.monotonic_ms() - self._looked_ms >= again_ms:
                await self._look()

    async def _look(self) -> bool:
        """Whether the keys could be fetched; those of before stay if not."""
        self._looked_ms = self._clock.monotonic_ms()
        try:
            timeout = aiohttp.ClientTimeout(total=self._settings.timeout_ms / 1000)
            async with aiohttp.ClientSession(timeout=timeout) as session:
                found = converted(
                    await self._fetch(session, self._settings.issuer.rstrip("/") + DISCOVERY),
                    Document,
                )
                if found.issuer != self._settings.issuer:
                    raise ProviderError(f"it calls itself {found.issuer}")
                keys = keys_of(await self._fetch(session, found.jwks_uri))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError, LockstepError) as error:
            self._log.warning(
                "cannot fetch the OpenID Connect provider's keys",
                issuer=self._settings.issuer, error=str(error) or type(error).__name__,
            )  # fmt: skip
            return False
        self._document, self._keys, self._read_ms = found, keys, self._looked_ms
        return True

    async def _fetch(
        self, session: aiohttp.ClientSession, url: str, form: dict[str, str] | None = None
    ) -> Any:
        self._private(url)
        method = "GET" if form is None else "POST"
        async with session.request(
            method, url, data=form, ssl=self._tls, allow_redirects=False
        ) as response:
            body = await response.content.read(MAX_ANSWER_BYTES + 1)
            while len(body) <= MAX_ANSWER_BYTES and (more := await response.content.readany()):
                body += more
        if len(body) > MAX_ANSWER_BYTES:
            raise ProviderError(f"{url} answers more than {MAX_ANSWER_BYTES} bytes")
        if response.status >= 500:
            raise UnavailableError(f"{url} answers {response.status}")
        if response.status != 200:
            raise ProviderError(f"{url} answers {response.status}{_reason(body)}")
        return msgspec.json.decode(body)

    def _private(self, url: str) -> None:
        """Whoever could change keys on their way could let anybody in."""
        parts = urlsplit(url)
        if parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        ):
            return
        raise ProviderError(
            f"the OpenID Connect provider is asked by https alone, not at {url[:200]}",
            hint="LOCKSTEP_OIDC__ISSUER; plain http is for the loopback",
        )


def _reason(body: bytes) -> str:
    """What OAuth's errors say, if it is one."""
    try:
        found = from_json(body, Refusal)
    except ValueError:
        return ""
    return f": {found.error[:100]} {found.error_description[:300]}".rstrip()


def _listed(text: str) -> frozenset[str]:
    return frozenset(filter(None, (part.strip() for part in text.split(","))))
