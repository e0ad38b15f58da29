"""Leases as keys that expire. Every change compares the token first, in one step of Redis."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterator,
    Mapping,
    Sequence,
)
from itertools import count
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
import stamina
from msgspec.structs import replace
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.asyncio.connection import SSLConnection
from redis.exceptions import (
    AuthenticationError,
    NoPermissionError,
    RedisError,
    ResponseError,
)

from lockstep.clock import Clock, Randomness
from lockstep.events import LockstepError, UnavailableError
from lockstep.leader.contract import PROCESS_ENDS, Held, Lease, Renewal
from lockstep.leader.redis.address import check_address
from lockstep.leader.redis.moving import Moving
from lockstep.leader.redis.scripts import ACQUIRE, HAND_OVER, HOLDERS, OWN, RELEASE, RENEW
from lockstep.tls import TlsFiles, calling

_PREFIX: Final = "lockstep:lease:"
_CHANNEL: Final = "lockstep:process:"
_SUITE: Final = "~suite"
"""No resource is called so; among the leases' keys, as our rights end there."""
_RIGHTS: Final = (
    f"the user of leader.url needs ~{_PREFIX}* &{_CHANNEL}* +eval +get +set +del +subscribe"
    " +pubsub|numsub +ping"
)
_ATTEMPTS: Final = 2
_TOGETHER_MAX: Final = 512
"""Leases in one request: a millisecond of Redis."""
_WAITS: Final = 10
"""The time for an answer is counted in so many waits."""
_LAST_RESORT_S: Final = 30.0
"""For a connection that nobody waits for any more."""
_RETRY_FIRST_S: Final = 0.01
_RETRY_JITTER_S: Final = 0.01


class LeasesRefusedError(UnavailableError):
    """Redis does not let us in: to try again at once would not help, but its operator may."""

    retryable = False


class RenewedConnection(SSLConnection):
    """Reads the files of certificates each time it connects: they may be others by then."""

    def _connection_arguments(self) -> Mapping[str, Any]:
        made = self.ssl_context
        made.context = None
        try:
            arguments: Mapping[str, Any] = super()._connection_arguments()
        except OSError:
            named = (made.ca_certs or "", made.certfile or "", made.keyfile or "")
            calling(TlsFiles(*named, password=made.password or ""))  # its error names them
            raise
        return arguments


class _Wanted(NamedTuple):
    """What ACQUIRE gets of a lease that is wanted."""

    key: str
    value: str
    reserved: str
    ttl_ms: int
    instead_of: str
    channel: str


class _Batch:
    """Leases that are asked for together, as long as `takes`; `sending` gives ACQUIRE's answers."""

    def __init__(self, send: Callable[[_Batch], Coroutine[Any, Any, list[str]]]) -> None:
        self.wanted: list[_Wanted] = []
        self.is_sent = False
        self.sending = asyncio.create_task(send(self))
        # Those who waited may have been cancelled: then nobody asks what became of it.
        self.sending.add_done_callback(lambda sent: sent.cancelled() or sent.exception())

    @property
    def takes(self) -> bool:
        """There is room for one more."""
        return not self.is_sent and len(self.wanted) < _TOGETHER_MAX


class _Told(NamedTuple):
    """Leases that are renewed together, as RENEW gets them: as a rule they are the same ones from
    one renewal to the next, four times a second."""

    leases: tuple[Lease, ...]
    texts: list[bytes]

    @classmethod
    def of(cls, leases: tuple[Lease, ...]) -> _Told:
        """In requests of a millisecond each."""
        starts = range(0, len(leases), _TOGETHER_MAX)
        return cls(leases, [_named(leases[start : start + _TOGETHER_MAX]) for start in starts])


class RedisLeases:
    """See `lockstep.leader.Leases`. Connects when first used, and again when needed.

    `timeout_ms` limits each answer: short against the lease's time to live, so that a renewal that
    fails leaves time for another one. Only time counts in which this process could have taken the
    answer: on starved cores it would else drop connections that are whole, and fall behind more.
    Errors of the URL: BadRedisAddressError.
    """

    def __init__(
        self, url: str, clock: Clock, randomness: Randomness, *, timeout_ms: int = 500
    ) -> None:
        self._clock = clock
        self._randomness = randomness
        self.process = randomness.uuid_hex()
        check_address(url)
        self._shown = urlsplit(url).netloc.rpartition("@")[2]
        self._redis: Redis = Redis.from_url(
            url,
            socket_timeout=_LAST_RESORT_S,
            socket_connect_timeout=_LAST_RESORT_S,
            retry=None,
            decode_responses=True,
        )
        self._moving = Moving(self._redis.connection_pool, clock, self._shown)
        self._wait_s = timeout_ms / 1000 / _WAITS
        self._batch: _Batch | None = None
        self._told = _Told((), [])
        if self._redis.connection_pool.connection_class is SSLConnection:
            self._redis.connection_pool.connection_class = RenewedConnection

    async def acquire(
        self, resource: str, holder: str, *, ttl_ms: int, instead_of: Held | None = None
    ) -> Lease | Held:
        token = f"{self.process}{PROCESS_ENDS}{self._randomness.uuid_hex()}"
        started_ms = self._clock.monotonic_ms()
        # From before the request: the server may have counted from there.
        lease = Lease(resource, holder, token, ttl_ms, started_ms + ttl_ms)
        gone = ("", "")
        if instead_of is not None and instead_of.process:
            gone = (_held(instead_of), _CHANNEL + instead_of.process)
        wanted = _Wanted(_PREFIX + resource, _held(lease), _reserved(holder), ttl_ms, *gone)
        before = self._batch
        if before is None or not before.takes:
            behind = None if before is None else before.sending
            self._batch = _Batch(lambda batch: self._acquire_together(batch, behind))
        batch = self._batch
        assert batch is not None
        place = len(batch.wanted)
        batch.wanted.append(wanted)
        found = (await asyncio.shield(batch.sending))[place]
        return _holder(found) if found else lease

    async def appear(self) -> None:
        subscription = self._redis.pubsub()
        try:
            with self._translated():
                await _patiently(self._wait_s, subscription.subscribe(_CHANNEL + self.process))
                # Of a connection that timed out in the kernel the client says None, each time and
                # at once: it takes that for a time-out that it was asked for.
                while await subscription.get_message(timeout=None) is not None:
                    pass
            raise UnavailableError("the connection to Redis timed out", where=self._shown)
        finally:
            await _hung_up(subscription)

    async def connected(self, processes: Collection[str]) -> frozenset[str]:
        with self._translated():
            asked = self._redis.pubsub_numsub(*(_CHANNEL + one for one in processes))
            answer: Any = await _patiently(self._wait_s, asked)
        found = {str(channel).removeprefix(_CHANNEL) for channel, count in answer if count}
        return frozenset(found)

    async def renew(self, lease: Lease) -> Lease | None:
        expires_ms = self._clock.monotonic_ms() + lease.ttl_ms
        if await self._asked(RENEW, [], (lease.ttl_ms, "", _named([lease]))):
            return None
        return replace(lease, expires_at_monotonic_ms=expires_ms)

    async def renew_all(self, leases: tuple[Lease, ...], *, ttl_ms: int) -> Renewal:
        expires_ms = self._clock.monotonic_ms() + ttl_ms
        if leases is not self._told.leases:
            self._told = _Told.of(leases)
        lost: list[str] = []
        for start, text in zip(count(step=_TOGETHER_MAX), self._told.texts, strict=False):
            found = await self._asked(RENEW, [], (ttl_ms, "again", text))
            # Counted from 1.
            lost += (leases[start + number - 1].resource for number in found)
        return Renewal(expires_ms, frozenset(lost))

    async def holders(self, resources: Sequence[str]) -> dict[str, Held]:
        found: dict[str, Held] = {}
        for start in range(0, len(resources), _TOGETHER_MAX):
            some = resources[start : start + _TOGETHER_MAX]
            keys = msgspec.json.encode([_PREFIX + each for each in some])
            values: list[str] = msgspec.json.decode(await self._asked(HOLDERS, [], [keys]))
            pairs = zip(some, values, strict=True)
            found |= {each: _holder(value) for each, value in pairs if value}
        return found

    async def release(self, lease: Lease) -> bool:
        return bool(await self._asked(RELEASE, [lease.resource], [_held(lease)]))

    async def holder(self, resource: str) -> str | None:
        with self._translated():
            held = await _patiently(self._wait_s, self._redis.get(_PREFIX + resource))
        return None if held is None else str(held).partition("\n")[0]

    async def hand_over(self, lease: Lease, to: str) -> bool:
        arguments = [_held(lease), _reserved(to)]
        return bool(await self._asked(HAND_OVER, [lease.resource], arguments))

    async def owner(self, suite: str, *, instead_of: str = "") -> str:
        return str(await self._asked(OWN, [_SUITE], [suite, instead_of]))

    async def healthy(self) -> bool:
        try:
            with self._translated():
                return bool(await _patiently(self._wait_s, self._redis.ping()))
        except LockstepError:
            return False

    async def close(self) -> None:
        with contextlib.suppress(RedisError, OSError):
            await self._redis.aclose()

    async def _acquire_together(
        self, batch: _Batch, behind: asyncio.Task[list[str]] | None
    ) -> list[str]:
        """What comes while a request is under way shares the next one: a thousand apps whose leader
        died are as many acquisitions at a time."""
        if behind is not None:
            await asyncio.wait({behind})
        batch.is_sent = True
        answer = await self._asked(ACQUIRE, [], [msgspec.json.encode(batch.wanted)])
        found: list[str] = msgspec.json.decode(answer)
        return found

    async def _asked(
        self, script: str, resources: Sequence[str], arguments: Sequence[str | int | bytes]
    ) -> Any:
        """What the script answers. Tried twice: all scripts find what they did before."""
        async for attempt in stamina.retry_context(
            on=lambda error: isinstance(error, UnavailableError) and error.retryable,
            attempts=_ATTEMPTS,
            wait_initial=_RETRY_FIRST_S,
            wait_jitter=_RETRY_JITTER_S,  # the default of a second is most of a lease's life
            timeout=None,
        ):
            with attempt, self._translated():
                keys = [_PREFIX + each for each in resources]
                asked = self._redis.eval(script, len(keys), *keys, *arguments)
                try:
                    return await _patiently(self._wait_s, asked)
                except ResponseError as error:
                    await _patiently(self._wait_s, self._moving.heed(error))
                    raise
        raise AssertionError("retries end with a result or an error")

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AuthenticationError as error:
            raise LeasesRefusedError(f"Redis: {error}", where=self._shown) from error
        except NoPermissionError as error:
            raise LeasesRefusedError(f"Redis: {error}", where=self._shown, hint=_RIGHTS) from error
        except (RedisError, OSError, TimeoutError) as error:
            text = str(error) or type(error).__name__
            raise UnavailableError(f"Redis cannot serve us: {text}", where=self._shown) from error


async def _patiently(wait_s: float, asked: Awaitable[Any]) -> Any:
    """The answer. TimeoutError: none came in `_WAITS` waits, however long each of them took.

    Whoever is cancelled meanwhile leaves the request to end by itself: inside, a cancellation may
    get lost (asyncio.wait_for in Python 3.11)."""
    request = asyncio.ensure_future(asked)
    request.add_done_callback(lambda done: done.cancelled() or done.exception())
    for _ in range(_WAITS):
        done, _pending = await asyncio.wait({request}, timeout=wait_s)
        if done:
            return request.result()
    request.cancel()  # its connection is not used again
    raise TimeoutError(f"no answer within {round(wait_s * _WAITS * 1000)} ms")


def _named(leases: Sequence[Lease]) -> bytes:
    """Keys and values in turns."""
    named: list[str] = []
    for one in leases:
        named += (_PREFIX + one.resource, _held(one))
    return msgspec.json.encode(named)


def _held(one: Lease | Held) -> str:
    return f"{one.holder}\n{one.token}"


def _holder(value: str) -> Held:
    holder, _, token = value.partition("\n")
    return Held(holder, token)


def _reserved(holder: str) -> str:
    return f"{holder}\n"


async def _hung_up(subscription: PubSub) -> None:
    """Closed, whatever its connection says to that."""
    with contextlib.suppress(RedisError, OSError):
        await subscription.aclose()  # type: ignore[no-untyped-call]  # redis tells no type
