"""A schema registry with Confluent's HTTP interface: schemas by id, and texts under subjects.

What an id means never changes, so a schema is asked for once. The log tells when a registry goes
and when it is back, not each try.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import aiohttp
import msgspec

from lockstep.clock import Clock
from lockstep.events import UnavailableError
from lockstep.schemas.contract import Kind, RegisteredSchema, SchemaRefusedError, Wanted
from lockstep.telemetry import Logger

TIMEOUT_MS: Final = 5_000
"""Of one request."""

UNKNOWN_FOR_MS: Final = 10_000
"""So long an id that the registry does not know is not asked for again."""

AWAY_FOR_MS: Final = 500
"""So long a registry that did not answer is not asked again: messages fail at once meanwhile."""

MAX_KEPT: Final = 10_000
"""Schemas in memory; beyond it all are forgotten, and asked for again."""

MAX_ANSWER_BYTES: Final = 4_194_304
MAX_REFERENCES: Final = 100
"""Schemas that one schema refers to, also through others."""

_ACCEPT: Final = "application/vnd.schemaregistry.v1+json, application/json"


class SchemaRegistry:
    """Asks registries by address; one for all apps of a service."""

    def __init__(self, clock: Clock, log: Logger) -> None:
        self._clock = clock
        self._log = log
        self._session: aiohttp.ClientSession | None = None
        self._kept: dict[Wanted, RegisteredSchema] = {}
        self._refused: dict[Wanted, tuple[int, SchemaRefusedError]] = {}
        self._away: dict[str, tuple[int, UnavailableError]] = {}
        self._asking: dict[Wanted, asyncio.Future[RegisteredSchema]] = {}

    async def get(self, wanted: Wanted) -> RegisteredSchema:
        """See the contract. Several who want the same ask once."""
        kept = self._kept.get(wanted)
        if kept is not None:
            return kept
        self._raise_known(wanted)
        asking = self._asking.get(wanted)
        if asking is None:
            asking = self._asking[wanted] = asyncio.ensure_future(self._asked(wanted))
            asking.add_done_callback(lambda done: self._ended(wanted, done))
        return await asyncio.shield(asking)

    async def close(self) -> None:
        """Ends what is under way; idempotent."""
        for asking in list(self._asking.values()):
            asking.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _ended(self, wanted: Wanted, asking: asyncio.Future[RegisteredSchema]) -> None:
        self._asking.pop(wanted, None)
        if not asking.cancelled():
            asking.exception()  # who wanted it may be gone

    def _raise_known(self, wanted: Wanted) -> None:
        now_ms = self._clock.monotonic_ms()
        until_ms, refused = self._refused.get(wanted, (0, None))
        if refused is not None and now_ms < until_ms:
            raise refused.with_traceback(None)
        until_ms, away = self._away.get(wanted.registry, (0, None))
        if away is not None and now_ms < until_ms:
            raise away.with_traceback(None)

    async def _asked(self, wanted: Wanted) -> RegisteredSchema:
        try:
            found = await self._found(wanted)
        except SchemaRefusedError as error:
            until_ms = self._clock.monotonic_ms() + UNKNOWN_FOR_MS
            _remember(self._refused, wanted, (until_ms, error))
            raise
        except UnavailableError as error:
            if wanted.registry not in self._away:
                self._log.warning("a schema registry is away", registry=_shown(wanted.registry))
            until_ms = self._clock.monotonic_ms() + AWAY_FOR_MS
            _remember(self._away, wanted.registry, (until_ms, error))
            raise
        if self._away.pop(wanted.registry, None) is not None:
            self._log.info("the schema registry is back", registry=_shown(wanted.registry))
        _remember(self._kept, wanted, found)
        return found

    async def _found(self, wanted: Wanted) -> RegisteredSchema:
        if wanted.id is None:
            path = f"subjects/{quote(wanted.subject or '', safe='')}/versions"
            body: dict[str, Any] = {"schema": wanted.text}
            if wanted.kind is not Kind.AVRO:
                body["schemaType"] = wanted.kind.value
            answer = await self._ask(wanted.registry, path, body)
            number = answer.get("id")
            if not isinstance(number, int):
                raise self._odd(wanted, "it gave no id")
            return RegisteredSchema(number, wanted.kind, wanted.text)
        answer = await self._ask(wanted.registry, f"schemas/ids/{wanted.id}")
        text, kind = answer.get("schema"), answer.get("schemaType", Kind.AVRO.value)
        if not isinstance(text, str):
            raise self._odd(wanted, "it gave no schema")
        if kind != wanted.kind.value:
            raise SchemaRefusedError(
                f"schema {wanted.id} of the registry is {kind}, not {wanted.kind.value}",
                hint="map with the type of the schema",
            )
        references: dict[str, str] = {}
        await self._refer(wanted, answer, references)
        return RegisteredSchema(wanted.id, wanted.kind, text, tuple(references.items()))

    async def _refer(
        self, wanted: Wanted, answer: Mapping[str, Any], into: dict[str, str], depth: int = 0
    ) -> None:
        """All that an answer refers to, inner ones first."""
        for each in answer.get("references") or ():
            name = str(each.get("name"))
            if name in into:
                continue
            if len(into) >= MAX_REFERENCES or depth >= MAX_REFERENCES:
                raise self._odd(wanted, f"it refers to more than {MAX_REFERENCES} others")
            subject = quote(str(each.get("subject")), safe="")
            path = f"subjects/{subject}/versions/{each.get('version')}"
            inner = await self._ask(wanted.registry, path)
            await self._refer(wanted, inner, into, depth + 1)
            into[name] = str(inner.get("schema"))

    async def _ask(self, registry: str, path: str, body: Any = None) -> dict[str, Any]:
        url = f"{registry.rstrip('/')}/{path}"
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_MS / 1000)
            self._session = aiohttp.ClientSession(timeout=timeout)
        method = "GET" if body is None else "POST"
        headers = {"Accept": _ACCEPT}
        try:
            async with self._session.request(method, url, json=body, headers=headers) as response:
                content = await response.content.read(MAX_ANSWER_BYTES)
                while not response.content.at_eof() and len(content) < MAX_ANSWER_BYTES:
                    content += await response.content.read(MAX_ANSWER_BYTES)
                return _answer(registry, path, response.status, content)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise UnavailableError(
                f"the schema registry does not answer: {type(error).__name__}",
                where=_shown(registry),
                hint="what needs its schemas waits until it is back",
            ) from error

    def _odd(self, wanted: Wanted, why: str) -> SchemaRefusedError:
        return SchemaRefusedError(
            f"schema {wanted.id or wanted.subject} of the registry cannot be used: {why}",
            where=_shown(wanted.registry),
        )


def _answer(registry: str, path: str, status: int, content: bytes) -> dict[str, Any]:
    """The JSON of an answer; what the registry refuses is told in its words."""
    if status in (408, 429) or status >= 500:
        raise UnavailableError(
            f"the schema registry answers {status}",
            where=_shown(registry),
            hint="what needs its schemas waits until it is back",
        )
    try:
        document = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        document = None
    if status < 300 and isinstance(document, dict):
        return document
    said = document.get("message") if isinstance(document, dict) else None
    raise SchemaRefusedError(
        f"the schema registry answers {status} to {path}: {said or 'nothing that is JSON'}"[:500],
        where=_shown(registry),
        hint="look at the id, the subject and the address of the registry",
    )


def _shown(registry: str) -> str:
    """The server of an address. Its user, path and query may hold secrets."""
    parts = urlsplit(registry)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _remember(kept: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kept) >= MAX_KEPT:
        kept.clear()
    kept[key] = value
