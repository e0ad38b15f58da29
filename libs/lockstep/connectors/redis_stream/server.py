"""The Redis that options of a source or sink name: connected when first used, asked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from lockstep.connectors.tls import files_of
from lockstep.secrets.closed import refuse_closed

TIMEOUT_S: Final = 10.0
"""For an answer, behind what a command itself waits."""

Entry = tuple[bytes, Mapping[bytes, bytes] | None]
"""Its id and its fields; None: it was removed from the stream meanwhile."""


class NoGroupError(Exception):
    """The stream or its group is not there."""


class StreamServer:
    """One server. Every error is an OSError: its operator may still mend what it refuses."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._client: Any = None

    async def make_group(self, stream: str, group: str, start: str) -> None:
        """The stream, too, where it is missing; what is there stays."""
        try:
            await self._asked("XGROUP", "CREATE", stream, group, start, "MKSTREAM")
        except OSError as error:
            if "BUSYGROUP" not in str(error):
                raise

    async def taken(
        self, stream: str, group: str, consumer: str, after: str, *, count: int, wait_ms: int = 0
    ) -> Sequence[Entry]:
        """Entries that this consumer has taken and nobody has acknowledged, behind the id `after`;
        with `>` new ones, for the first of which it waits. NoGroupError."""
        words: list[str | int] = ["GROUP", group, consumer, "COUNT", count]
        if wait_ms:
            words += ["BLOCK", wait_ms]
        try:
            found = await self._asked("XREADGROUP", *words, "STREAMS", stream, after)
        except OSError as error:
            if "NOGROUP" in str(error):
                raise NoGroupError(str(error)) from error
            raise
        return _entries(found)

    async def settle(
        self, stream: str, group: str, ids: Sequence[bytes], *, is_removed: bool
    ) -> None:
        """They need not come again; `is_removed`: to nobody."""
        await self._asked("XACK", stream, group, *ids)
        if is_removed:
            await self._asked("XDEL", stream, *ids)

    async def step(self, script: str, keys: Sequence[str], values: Sequence[str | bytes]) -> Any:
        """What a script answers, which does all or nothing of what it does."""
        return await self._asked("EVAL", script, len(keys), *keys, *values)

    async def _asked(self, *words: str | bytes | int) -> Any:
        if self._client is None:
            self._client = self._opened()
        try:
            return await self._client.execute_command(*words)
        except (exceptions.RedisError, OSError) as error:
            raise OSError(f"Redis: {str(error) or type(error).__name__}") from error

    def _opened(self) -> Any:
        options = self._options
        named = parse_url(options["url"].strip())  # it may name files, too, and those would count
        refuse_closed(*(str(named.get(name, "")) for name in ("ssl_certfile", "ssl_keyfile")))
        tls: dict[str, Any] = {}
        if options["url"].strip().startswith("rediss"):
            files = files_of(options)
            tls = {
                "ssl_ca_certs": files.authority or None,
                "ssl_certfile": files.certificate or None,
                "ssl_keyfile": files.key or files.certificate or None,
            }
        login: dict[str, Any] = {
            name: options[name] for name in ("username", "password") if name in options
        }
        return Redis.from_url(
            options["url"].strip(),
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            retry=Retry(NoBackoff(), 0),  # whoever asks tries again
            **login,
            **tls,
        )

    async def close(self) -> None:
        """The next call connects anew, with the certificates that are there then; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _entries(found: Any) -> Sequence[Entry]:
    """Of the one stream that was asked for, in each form in which the client gives them."""
    streams = found.values() if isinstance(found, dict) else (part[1] for part in found or ())
    return [(entry[0], entry[1] or None) for entries in streams for entry in _flat(entries)]


def _flat(entries: Any) -> Any:
    """A stream's entries, which newer versions of the protocol give in a list more."""
    return entries[0] if len(entries) == 1 and isinstance(entries[0], list) else entries
