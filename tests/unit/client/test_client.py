"""The client against receivers that fail on command, over real HTTP on the loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from lockstep.client import (
    EventClient,
    EventRefusedError,
    HeaderError,
    Limits,
    NotAcceptedError,
    UndeliveredError,
)
from lockstep.client.batches import UnwritableEventError
from lockstep.client.limits import LimitError
from lockstep.clock import SystemClock
from lockstep.events import UnavailableError

Reply = Callable[[], Awaitable[web.StreamResponse]]
QUICK = Limits(backoff_ms=5, backoff_max_ms=20)
"""Nothing is given up that a busy machine answers late: what is asked twice is counted twice."""
PATIENCE_S = 60


class Log:
    """What all receivers of a test append to: lines once per key, in order."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.keys: list[str] = []

    def append(self, key: str, values: list[Any]) -> bool:
        """True when the key was there."""
        if key in self.keys:
            return True
        self.keys.append(key)
        self.values += values
        return False


class Receiver:
    """One door; `answers` are taken first: a status, "lost" (appended, no answer), "hang", or what
    it says."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.answers: list[int | str | dict[str, Any]] = []
        self.asked = 0
        self.batches: list[int] = []
        self.headers: dict[str, str] = {}
        self.gate = asyncio.Event()
        self.gate.set()
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def open(self) -> None:
        """Listens on any port."""
        app = web.Application()
        app.router.add_post("/v1/apps/{app}/events", self._lines)
        app.router.add_post("/v1/apps/{app}/streams/{stream}/events", self._chunk)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        """Idempotent."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _lines(self, request: web.Request) -> web.StreamResponse:
        lines = [json.loads(line) for line in (await request.read()).split(b"\n")]
        self.batches.append(len(lines))
        bad = [i for i, line in enumerate(lines) if line["event"].get("v") == "bad"]
        refused = [
            {"line": i + 1, "errors": [{"field": "v", "message": "expected a long"}]} for i in bad
        ]
        good = [line["event"]["v"] for i, line in enumerate(lines) if i not in bad]
        return await self._answer(request, good, refused)

    async def _chunk(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, [tuple(json.loads(await request.read()))], [])

    async def _answer(
        self, request: web.Request, good: list[Any], refused: list[Any]
    ) -> web.StreamResponse:
        self.asked += 1
        await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, dict):
            return web.json_response(answer)
        if isinstance(answer, int) and answer >= 400:
            return web.json_response({"detail": "no"}, status=answer, headers=self.headers)
        if answer == "hang":
            await asyncio.Event().wait()
        if not good:
            return web.json_response({"detail": "all refused", "errors": refused}, status=400)
        duplicate = self.log.append(request.headers["Idempotency-Key"], good)
        if answer == "lost" and request.transport is not None:
            request.transport.abort()
        body = {
            "first_position": len(self.log.keys),
            "last_position": len(self.log.keys),
            "duplicate": duplicate,
            "refused": refused,
            "refused_count": len(refused),
        }
        return web.json_response(body, status=207 if refused else 200)


@pytest.fixture
async def doors() -> AsyncIterator[list[Receiver]]:
    """Three receivers of one log."""
    log = Log()
    opened = [Receiver(log) for _ in range(3)]
    for door in opened:
        await door.open()
    yield opened
    for door in opened:
        await door.close()


def client(doors: list[Receiver], mode: str = "any", limits: Limits = QUICK) -> EventClient:
    """Of an app named A."""
    return EventClient([door.url for door in doors], "A", mode=mode, limits=limits)


async def until(condition: Callable[[], object]) -> None:
    """TimeoutError when it does not come true."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0)


@pytest.mark.parametrize("mode", ["any", "failover", "all"])
async def test_events_are_there_once_in_order_whatever_fails(
    doors: list[Receiver], mode: str
) -> None:
    """Errors, lost answers and a dead receiver: the log has each event once, as handed over."""
    for number, door in enumerate(doors):
        door.answers = [503, "lost", 200, 429, "lost", "hang", 500] * (number + 1)
    # Who hangs is given up soon; what takes longer for other reasons is only sent again.
    limits = replace(QUICK, batch_events=7, request_timeout_ms=500)
    async with client(doors, mode, limits) as sender:
        for i in range(60):
            await sender.put("S", {"v": i})
        await doors[1].close()
        for i in range(60, 120):
            await sender.put("S", {"v": i})
    assert doors[0].log.values == list(range(120))


async def test_any_goes_round_failover_stays_all_asks_everybody(doors: list[Receiver]) -> None:
    """Which receivers hear of three batches."""
    asked = {}
    for mode in ("any", "failover", "all"):
        before = [door.asked for door in doors]
        async with client(doors, mode) as sender:
            for i in range(3):
                await sender.send("S", {"v": i})
                # In mode all the first answer counts, and the others are asked all the same.
                total = sum(before) + (3 if mode == "all" else 1) * (i + 1)
                await until(lambda total=total: sum(d.asked for d in doors) >= total)  # type: ignore[misc]
        asked[mode] = [door.asked - was for door, was in zip(doors, before, strict=True)]
    assert asked == {"any": [1, 1, 1], "failover": [3, 0, 0], "all": [3, 3, 3]}


async def test_failover_stays_with_the_receiver_that_works(doors: list[Receiver]) -> None:
    """The first one is dead: the second gets everything, and the first is not asked each time."""
    await doors[0].close()
    async with client(doors, "failover") as sender:
        for i in range(5):
            await sender.send("S", {"v": i})
    assert [door.asked for door in doors] == [0, 5, 0]


async def test_a_slow_receiver_holds_nobody_up_in_mode_all(doors: list[Receiver]) -> None:
    """The first answer counts; who is busy with an earlier batch is passed over."""
    doors[2].gate.clear()
    async with client(doors, "all") as sender:
        for i in range(20):
            await sender.send("S", {"v": i})
    assert doors[0].log.values == list(range(20))
    assert doors[2].asked == 1


async def test_one_receiver_that_does_not_want_it_is_not_all_of_them(doors: list[Receiver]) -> None:
    """In mode all: what another one accepts is accepted; nobody's yes is a no."""
    doors[0].answers, doors[1].answers, doors[2].answers = [404, 404], [404, 404], [503, 200, 404]
    async with client(doors, "all") as sender:
        await sender.send("S", {"v": 1})
        await until(lambda: all(door.asked == 2 for door in doors))
        doors[0].answers, doors[1].answers, doors[2].answers = [404], [404], [404]
        with pytest.raises(NotAcceptedError):
            await sender.send("S", {"v": 2})
    assert doors[0].log.values == [1]


async def test_retry_after_is_honoured(doors: list[Receiver]) -> None:
    """A door that asks for a second is not asked before."""
    door = doors[0]
    door.answers, door.headers = [429], {"Retry-After": "0.4"}
    started = asyncio.get_running_loop().time()
    async with client([door]) as sender:
        await sender.send("S", {"v": 1})
    assert asyncio.get_running_loop().time() - started >= 0.4
    assert door.asked == 2


async def test_refused_events_are_named_and_the_others_pass(doors: list[Receiver]) -> None:
    """Each future gets its own outcome; `flush` tells of those that nobody awaited."""
    async with client(doors, limits=replace(QUICK, batch_wait_ms=60_000)) as sender:
        done = [await sender.put("S", {"v": v}) for v in (1, "bad", 2)]
        with pytest.raises(UndeliveredError) as undelivered:
            await sender.flush()
        assert undelivered.value.count == 1
        assert (await done[0]).first_position == (await done[2]).first_position == 1
        with pytest.raises(EventRefusedError, match="v: expected a long"):
            await done[1]
        with pytest.raises(EventRefusedError):
            await sender.send("S", {"v": "bad"})
    assert doors[0].log.values == [1, 2]


async def test_a_request_that_no_receiver_will_take_is_not_repeated(doors: list[Receiver]) -> None:
    """No such app: said at once, with the status."""
    doors[0].answers = [404]
    async with client(doors) as sender:
        with pytest.raises(NotAcceptedError) as refused:
            await sender.send("S", {"v": 1})
    assert refused.value.status == 404
    assert sum(door.asked for door in doors) == 1


async def test_giving_up_is_said(doors: list[Receiver]) -> None:
    """Nobody answers until the time is up: whoever awaits the event hears it, and so does flush."""
    for door in doors:
        await door.close()
    limits = Limits(backoff_ms=5, backoff_max_ms=20, give_up_after_ms=100, request_timeout_ms=50)

    async def in_vain() -> None:
        async with client(doors, limits=limits) as sender:
            with pytest.raises(UnavailableError):
                await sender.send("S", {"v": 1})
            await sender.put("S", {"v": 2})

    with pytest.raises(UndeliveredError):
        await in_vain()


async def test_trying_again_is_said_once(
    doors: list[Receiver], caplog: pytest.LogCaptureFixture
) -> None:
    """With the cause, where programs that use the client look; and that it is over."""
    door = doors[0]
    door.answers = [503, 503, 503]
    async with client([door]) as sender:
        await sender.send("S", {"v": 1})
    said = [record.getMessage() for record in caplog.records if record.name == "lockstep.client"]
    assert len(said) == 2
    assert said[0].startswith("no receiver takes events, trying again: ")
    assert said[1].startswith("a receiver takes events again, after ")
    assert door.log.values == [1]


async def test_batches_keep_their_limits(doors: list[Receiver]) -> None:
    """Events and bytes; a chunk goes alone and keeps its place."""
    door = doors[0]
    door.gate.clear()
    limits = Limits(batch_events=4, batch_bytes=200)
    async with client([door], limits=limits) as sender:
        first = asyncio.create_task(sender.send("S", {"v": 0}))
        await until(lambda: door.asked)
        for i in range(1, 10):
            await sender.put("S", {"v": i})
        chunk = asyncio.create_task(sender.send_chunk("S", [[1], [2]], key="mine"))
        await asyncio.sleep(0)
        await sender.put("S", {"v": "x" * 150})
        await sender.put("S", {"v": "y" * 150})
        door.gate.set()
        await asyncio.gather(first, chunk)
    assert door.batches == [1, 4, 4, 1, 1, 1]
    assert door.log.values[:11] == [*range(10), ([1], [2])]
    assert door.log.keys[4] == "mine"


async def test_the_caller_waits_when_too_much_is_on_its_way(doors: list[Receiver]) -> None:
    """Over `pending_events` a `put` does not return until the receivers have taken something."""
    door = doors[0]
    door.gate.clear()
    async with client([door], limits=Limits(pending_events=3)) as sender:
        for i in range(3):
            await sender.put("S", {"v": i})
        fourth = asyncio.create_task(sender.put("S", {"v": 3}))
        await until(lambda: door.asked)
        assert not fourth.done()
        door.gate.set()
        await fourth
    assert door.log.values == [0, 1, 2, 3]


async def test_an_error_in_the_block_delivers_what_was_handed_over(doors: list[Receiver]) -> None:
    """The program's own error comes out; a cancelled block leaves nobody waiting."""

    async def failing() -> None:
        async with client(doors) as sender:
            await sender.put("S", {"v": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await failing()
    assert doors[0].log.values == [1]
    for door in doors:
        door.gate.clear()
    handed: list[asyncio.Future[Any]] = []

    async def cancelled() -> None:
        async with client(doors) as sender:
            handed.append(await sender.put("S", {"v": 2}))
            await asyncio.Event().wait()

    task = asyncio.create_task(cancelled())
    await until(lambda: handed)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(UnavailableError, match="closed"):
        await handed[0]


@pytest.mark.parametrize("text", ["secret\n", "\rsecret", "sec\x00ret"])
async def test_what_no_header_can_carry_is_refused_at_once(
    doors: list[Receiver], text: str
) -> None:
    """A token and a key with a line end in them; neither is told, and nobody waits for anything."""
    with pytest.raises(HeaderError, match="token") as refused:
        EventClient([doors[0].url], "A", token=text)
    async with client(doors) as sender:
        with pytest.raises(HeaderError, match="key") as refused_key:
            await sender.send_chunk("S", [[1]], key=text)
        await sender.send("S", {"v": 1})
    assert "sec" not in f"{refused.value}{refused_key.value}"


@pytest.mark.parametrize(
    "strange",
    [
        {"first_position": None, "last_position": None},
        {"first_position": "x", "last_position": 1},
        {"refused": 7, "first_position": 1, "last_position": 1},
        {"refused_count": "many"},
    ],
    ids=str,
)
async def test_an_answer_of_somebody_else_is_said(
    doors: list[Receiver], strange: dict[str, Any]
) -> None:
    """A proxy's, for one: the event is told as not accepted, and the next one is sent."""
    doors[0].answers = [strange]
    async with client(doors[:1]) as sender:
        with pytest.raises(NotAcceptedError, match="not a receiver's"):
            await sender.send("S", {"v": 1})
        await sender.send("S", {"v": 2})
    assert doors[0].log.values == [2]


async def test_a_defect_leaves_nobody_waiting(doors: list[Receiver]) -> None:
    """Whatever ends the sending: the events that are under way are told, and `put` refuses."""

    class Broken(SystemClock):
        async def sleep_ms(self, ms: float) -> None:
            raise ZeroDivisionError

    doors[0].answers = [503]
    async with asyncio.timeout(PATIENCE_S):
        sender = EventClient([doors[0].url], "A", clock=Broken(), limits=QUICK)
        async with sender:
            await sender.put("S", {"v": 1})
            with pytest.raises(UndeliveredError):
                await sender.flush()
            with pytest.raises(UnavailableError, match="not open"):
                await sender.put("S", {"v": 2})


async def test_who_waits_for_room_hears_that_the_client_closes(doors: list[Receiver]) -> None:
    """Another task's `put` ends, too."""
    doors[0].gate.clear()
    waiting: list[asyncio.Task[Any]] = []

    async def cancelled() -> None:
        async with client(doors[:1], limits=Limits(pending_events=1)) as sender:
            await sender.put("S", {"v": 1})
            waiting.append(asyncio.create_task(sender.put("S", {"v": 2})))
            await asyncio.Event().wait()

    task = asyncio.create_task(cancelled())
    await until(lambda: waiting and doors[0].asked)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(UnavailableError, match="closed while this waited"):
            await waiting[0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [1.0, {"a": -float("inf")}]])
async def test_a_number_that_json_does_not_have_is_refused(
    doors: list[Receiver], value: object
) -> None:
    """It would arrive as nothing; nothing itself is fine."""
    async with client(doors) as sender:
        with pytest.raises(UnwritableEventError, match="NaN"):
            await sender.put("S", {"v": value})
        with pytest.raises(UnwritableEventError, match="NaN"):
            await sender.send_chunk("S", [[1], [value]])
        await sender.send("S", {"v": None})
    assert [value for door in doors for value in door.log.values][:1] == [None]


def test_limits_that_cannot_be_are_refused() -> None:
    """By name."""
    with pytest.raises(LimitError, match="pending_events"):
        Limits(pending_events=0)
    with pytest.raises(LimitError, match="at most 1000"):
        Limits(batch_events=1_001)
    with pytest.raises(LimitError, match="receiver"):
        EventClient([], "A")


async def test_what_needs_much_room_has_its_turn(doors: list[Receiver]) -> None:
    """However many small ones come behind it; `flush` waits for what was handed over before."""
    door, is_over = doors[0], asyncio.Event()
    async with client([door], limits=Limits(pending_events=5, batch_events=2)) as sender:

        async def putting() -> None:
            while not is_over.is_set():
                await sender.put("S", {"v": 0})

        others = [asyncio.create_task(putting()) for _ in range(3)]
        async with asyncio.timeout(PATIENCE_S):
            await sender.put("S", {"v": 1})
            await sender.flush()
            assert 1 in door.log.values
            await sender.send_chunk("S", [{"v": 2}] * 5)
        is_over.set()
        await asyncio.gather(*others)


@pytest.mark.parametrize(
    "urls",
    ["http://a:1", ["a:1"], ["htp://a:1"], ["nats://a:4222"], ["http://a:99999"], ["/x"],
     ["http://a..b"], ["http://a\\b:1"]],
)  # fmt: skip
def test_an_address_that_can_never_work_is_refused_at_once(urls: Any) -> None:
    """Not after all retries."""
    with pytest.raises(LimitError, match="http://"):
        EventClient(urls, "A")


async def test_an_empty_key_is_refused(doors: list[Receiver]) -> None:
    """It would count as none, and the chunk could come twice."""
    async with client(doors) as sender:
        with pytest.raises(HeaderError, match="empty"):
            await sender.send_chunk("S", [{"v": 1}], key="")


async def test_a_door_that_asks_for_no_wait_is_left_alone(doors: list[Receiver]) -> None:
    """`Retry-After: 0` leaves the pause to the client."""
    door = doors[0]
    door.answers, door.headers = [429] * 1_000, {"Retry-After": "0"}
    limits = Limits(give_up_after_ms=300, backoff_ms=50)
    async with client([door], limits=limits) as sender:
        with pytest.raises(UnavailableError):
            await sender.send("S", {"v": 1})
    assert door.asked < 20


async def test_an_error_has_a_note_of_what_was_not_delivered(doors: list[Receiver]) -> None:
    """Else nobody would hear of it."""
    for door in doors:
        door.answers = [404] * 10

    async def failing() -> None:
        async with client(doors) as sender:
            await sender.put("S", {"v": 1})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        await failing()
    assert "1 events were not accepted" in raised.value.__notes__[0]
