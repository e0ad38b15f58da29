"""@sink(type='redis-stream'): an entry a message, exactly once.

A hash beside each stream has the last identity that each sink has written there. One script looks
at it, adds the entries that are newer, and moves it. So an entry that is sent again is found there,
also when another publisher sends it, and what Redis forgets it forgets together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from lockstep.connectors.redis_stream import IDENTITY, PAYLOAD
from lockstep.connectors.redis_stream.server import StreamServer
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_filled

IN_FLIGHT: Final = 64
MAX_NAME_BYTES: Final = 1_024
MARKS: Final = "lockstep:stream-sink:"
"""In front of a stream's name: the hash of the marks."""

# For each message: its stream and the marks (keys); then its sink, its last row's identity, "1"
# where the mark is of an older log, how many words follow, and these: what XADD takes behind the
# key. Answers what became of each (added, there, or why it is refused), and what stopped it.
ADD: Final = """
local done, at = {}, 1
local function older(one, other)
  local p, o = string.match(one, '^(%d+)%.(%d+)$')
  local q, r = string.match(other, '^(%d+)%.(%d+)$')
  p, o, q, r = tonumber(p), tonumber(o), tonumber(q), tonumber(r)
  return p < q or (p == q and o < r)
end
for number = 1, #KEYS / 2 do
  local stream, marks = KEYS[2 * number - 1], KEYS[2 * number]
  local sink, last, fresh, words = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  local mark = fresh == '0' and redis.call('HGET', marks, sink)
  if mark and not older(mark, last) then
    done[number] = 'there'
  else
    local added = redis.pcall('XADD', stream, unpack(ARGV, at + 4, at + 3 + words))
    if type(added) == 'table' and added.err then
      if not string.find(added.err, 'WRONGTYPE') then
        return {done, added.err}
      end
      done[number] = added.err
    else
      redis.call('HSET', marks, sink, last)
      done[number] = 'added'
    end
  end
  at = at + 4 + words
end
return {done, ''}
"""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A message on its way, and who waits for it."""

    stream: str
    mark: str
    last: str
    words: Sequence[str | bytes]
    outcome: asyncio.Future[None] = field(compare=False)


class RedisStreamSink(Sink):
    """Options: `url`, `stream.name`, `payload.field`, `identity.field`, `fields`, `max.length` …

    Messages that wait while others are on their way go together, in their order. When one does not
    arrive, none behind it is sent.
    """

    in_flight: ClassVar[int] = IN_FLIGHT
    # A row out of the error store is older than the mark.
    takes_again: ClassVar[bool] = False

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._server = StreamServer(options)
        self._fields = (
            options.get("payload.field", PAYLOAD),
            options.get("identity.field", IDENTITY),
        )
        self._limit = _limit(options)
        self._waiting: list[_Waiting] = []
        self._sending: asyncio.Task[None] | None = None
        self._begun: set[str] | None = None

    async def send(self, message: Message) -> None:
        waiting = self._prepared(message)
        self._waiting.append(waiting)
        if self._sending is None:
            self._sending = asyncio.ensure_future(self._send_all())
        await waiting.outcome

    def begin_again(self) -> None:
        self._begun = set()

    async def close(self) -> None:
        sending, self._sending = self._sending, None
        if sending is not None:
            sending.cancel()
            await asyncio.wait([sending])
        await self._server.close()

    def _prepared(self, message: Message) -> _Waiting:
        stream = message.fill(self._options["stream.name"]).strip()
        if not stream or len(stream.encode()) > MAX_NAME_BYTES or min(stream) < " ":
            raise MessageRefusedError(f"{stream[:200]!r} is no name of a stream")
        app, *_, rows = message.id.split("/")
        first, _, last_ordinal = rows.partition("-")
        last = f"{first.partition('.')[0]}.{last_ordinal}" if last_ordinal else first
        payload, identity = self._fields
        own = headers_filled(self._options.get("fields", ""), message.fill)
        own.pop(payload, None)
        own.pop(identity, None)
        words: list[str | bytes] = [*self._limit, "*", payload, message.payload, identity]
        words += [message.id, *(word for pair in own.items() for word in pair)]
        return _Waiting(
            stream, f"{app}/{self._options['stream']}", last, words,
            asyncio.get_running_loop().create_future(),
        )  # fmt: skip

    async def _send_all(self) -> None:
        """Until nobody waits."""
        together: list[_Waiting] = []
        try:
            while self._waiting:
                together, self._waiting = self._waiting, []
                await self._send_together(together)
        except OSError as error:
            await self._server.close()
            self._fail([*together, *self._waiting], error)
        finally:
            # Whoever ends this has closed the sink: what is still waiting is sent again later.
            self._fail([*together, *self._waiting], OSError("the sink is closed"))
            self._waiting, self._sending = [], None

    async def _send_together(self, together: list[_Waiting]) -> None:
        keys = [key for one in together for key in (one.stream, MARKS + one.stream)]
        values: list[str | bytes] = []
        begun: set[str] = set()
        for one in together:
            is_older = self._begun is not None and one.stream not in self._begun | begun
            begun.add(one.stream)
            values += [one.mark, one.last, str(int(is_older)), str(len(one.words)), *one.words]
        done, stopped = await self._server.step(ADD, keys, values)
        if self._begun is not None:
            self._begun |= {one.stream for one in together[: len(done)]}
        for one, outcome in zip(together, done, strict=False):
            if not one.outcome.done():
                _tell(one.outcome, outcome.decode())
        if stopped:
            raise OSError(f"Redis: {stopped.decode()}")

    @staticmethod
    def _fail(waiting: list[_Waiting], error: OSError) -> None:
        for one in waiting:
            if not one.outcome.done():
                one.outcome.set_exception(OSError(str(error)))


def _tell(future: asyncio.Future[None], outcome: str) -> None:
    if outcome in ("added", "there"):
        future.set_result(None)
    else:
        future.set_exception(MessageRefusedError(f"Redis refuses the message: {outcome}"))


def _limit(options: Mapping[str, str]) -> tuple[str, ...]:
    """What XADD trims the stream to."""
    length = options.get("max.length")
    if length is None:
        return ()
    exact = options.get("max.length.exact", "").strip().lower() == "true"
    return ("MAXLEN", "=" if exact else "~", length.strip())
