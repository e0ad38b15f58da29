"""Dead letters, ingress, topics and requests, on every carrier."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Sequence

import pytest

from lockstep.bus import (
    ID_HEADER,
    Appended,
    Bus,
    DeadLetter,
    IngressMessage,
    RecordTooLargeError,
    StoredDeadLetter,
    ingress_subject,
)
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import World, with_limits
from tests.contract.patience import PATIENCE_MS, PATIENCE_S, eventually

REDELIVERY_MS = 700
QUIET_MS = 1_000  # long enough for what must not come, and would at once


def _letter(app: str, stream: str, payload: bytes = b"\x00{bad") -> DeadLetter:
    return DeadLetter(app, stream, "no sü\nch field", payload, "application/json", 5, "n1", 3)


def _app() -> str:
    return f"a.{uuid.uuid4().hex}"


async def test_dead_letters_are_found_by_app_and_stream(world: World) -> None:
    """Oldest first, with original bytes; other apps' letters stay out."""
    app, other = _app(), _app()
    letters = world.bus.dead_letters
    first = (await letters.append(_letter(app, "S 1"))).position
    await letters.append(_letter(other, "S 1"))
    second = (await letters.append(_letter(app, "T", b"\xff"))).position
    found = await world.other.dead_letters.read(app)
    assert found == [
        StoredDeadLetter(first, _letter(app, "S 1")),
        StoredDeadLetter(second, _letter(app, "T", b"\xff")),
    ]
    assert [each.sequence for each in await letters.read(app, "T")] == [second]
    assert [each.sequence for each in await letters.read(app, after=first)] == [second]
    assert [each.sequence for each in await letters.read(app, max_records=1)] == [first]


async def test_dead_letters_are_stored_once_by_id_and_removed(world: World) -> None:
    """A repeated id gives the first sequence, and says that it was there, whoever repeats it;
    removing tells how many were there."""
    app = _app()
    letters = world.bus.dead_letters
    stored = await letters.append(_letter(app, "S"), dedup_id=f"{app}/1")
    assert not stored.duplicate
    first = stored.position
    for each in (letters, world.other.dead_letters):
        again = await each.append(_letter(app, "S"), dedup_id=f"{app}/1")
        assert again == Appended(first, duplicate=True)
    stored = await letters.append(_letter(app, "S"), dedup_id=f"{app}/2")
    assert not stored.duplicate
    second = stored.position
    assert await letters.remove([first, first, 10**9]) == 1
    assert [each.sequence for each in await letters.read(app)] == [second]


@pytest.mark.parametrize("name", ["A" * 201, "a.b" * 70, "ü" * 60, "A" * 5_000])
async def test_a_dead_letter_may_bear_any_name(world: World, name: str) -> None:
    """No app has such a name. What strangers send to it is refused, and stands with its own."""
    letters, app = world.bus.dead_letters, _app()
    for_stream = (await letters.append(_letter(app, name))).position
    await letters.append(_letter(app, f"{name}x"))
    for_app = (await letters.append(_letter(f"{app}{name}", "S"))).position
    assert await letters.read(app, name) == [StoredDeadLetter(for_stream, _letter(app, name))]
    found = await world.other.dead_letters.read(f"{app}{name}")
    assert found == [StoredDeadLetter(for_app, _letter(f"{app}{name}", "S"))]


async def test_of_a_dead_letter_that_is_too_large_the_beginning_is_kept(world: World) -> None:
    """What was refused may be larger than anything that the bus takes."""
    app, payload = _app(), bytes(range(256)) * 40_000
    stored = await world.bus.dead_letters.append(_letter(app, "S", payload), dedup_id=app)
    again = await world.bus.dead_letters.append(_letter(app, "S", payload), dedup_id=app)
    assert again == Appended(stored.position, duplicate=True)
    (found,) = await world.other.dead_letters.read(app)
    kept = found.letter.payload
    assert len(kept) > 7_000_000
    assert payload.startswith(kept)
    assert found.letter.left_out_bytes == len(payload) - len(kept)
    assert found.letter.reason.startswith(_letter(app, "S").reason)
    assert (
        f"of its 10240000 bytes {found.letter.left_out_bytes} are left out" in found.letter.reason
    )


async def test_dead_letters_are_read_until_they_have_so_many_bytes(world: World) -> None:
    """Few letters do not mean that there are no more: an empty answer does."""
    app, payload = _app(), b"x" * 1_000
    letters = world.bus.dead_letters
    stored = [(await letters.append(_letter(app, "S", payload))).position for _ in range(5)]
    other = world.other.dead_letters

    async def read(max_bytes: int, after: int = 0) -> list[int]:
        return [one.sequence for one in await other.read(app, after=after, max_bytes=max_bytes)]

    assert await read(0) == stored[:1]
    assert await read(1_500) == stored[:2]
    assert await read(1_500, stored[1]) == stored[2:4]
    assert await read(1_500, stored[3]) == stored[4:]
    assert await read(1_500, stored[4]) == []
    assert await read(100_000) == stored


async def test_ingress_keeps_a_message_until_it_is_acknowledged(world: World) -> None:
    """Unacknowledged, it comes again after a time, with the same id; acknowledged, never."""
    app = _app()
    await world.bus.ingress.publish(app, "S.x", b"1", headers={"Content-Type": "text/plain"})
    receiver = await world.carrier.connect(with_limits(ingress_redelivery_ms=REDELIVERY_MS))
    (message,) = await receiver.ingress.read(max_messages=10, wait_ms=PATIENCE_MS)
    assert (message.app, message.stream, message.payload) == (app, "S.x", b"1")
    assert message.headers["Content-Type"] == "text/plain"
    (again,) = await receiver.ingress.read(max_messages=10, wait_ms=PATIENCE_MS)
    async with asyncio.timeout(PATIENCE_S):
        found: Sequence[IngressMessage] = [again]
        while found:  # the next may be on its way before the acknowledgement is there
            assert [(each.id, each.payload) for each in found] == [(message.id, b"1")]
            await found[0].acknowledge()
            found = await receiver.ingress.read(max_messages=10, wait_ms=3 * REDELIVERY_MS)


async def test_receivers_share_the_ingress(world: World) -> None:
    """Each message goes to one of them."""
    app = _app()
    for i in range(20):
        await world.bus.ingress.publish(app, "S", str(i).encode())
    seen: list[bytes] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(seen) < 20:
            for bus in (world.bus, world.other):
                for message in await bus.ingress.read(max_messages=3, wait_ms=100):
                    seen.append(message.payload)
                    await message.acknowledge()
    assert sorted(seen, key=int) == [str(i).encode() for i in range(20)]


async def test_ingress_ids_of_clients_are_kept(world: World) -> None:
    """A client that repeats its id is heard once."""
    app, own = _app(), uuid.uuid4().hex
    for _ in range(2):
        await world.bus.ingress.publish(app, "S", b"x", headers={"Nats-Msg-Id": own})
    (message,) = await world.bus.ingress.read(max_messages=10, wait_ms=PATIENCE_MS)
    assert message.id == own
    await message.acknowledge()
    assert await world.bus.ingress.read(max_messages=10, wait_ms=50) == []


async def test_ingress_refuses_what_is_too_large(world: World) -> None:
    """The sender hears it, at once."""
    with pytest.raises(RecordTooLargeError):
        await world.bus.ingress.publish(_app(), "S", b"x" * 1_000_001)


async def test_a_kept_subject_acknowledges_and_knows_ids(world: World) -> None:
    """The ingress keeps its subjects: a repeated id is stored once. Too large is refused."""
    app = _app()
    subject, headers = ingress_subject(app, "S"), {ID_HEADER: f"{app}/7.0"}
    for _ in range(2):
        assert await world.bus.topics.publish_kept(subject, b"1", headers=headers) is True
    (message,) = await world.other.ingress.read(max_messages=10, wait_ms=PATIENCE_MS)
    assert (message.app, message.stream, message.payload) == (app, "S", b"1")
    await message.acknowledge()
    with pytest.raises(RecordTooLargeError):
        await world.bus.topics.publish_kept(subject, bytes(2_000_000))


async def test_a_subject_that_nobody_keeps_is_sent_once(world: World) -> None:
    """And the sender is told that nobody acknowledged."""
    subject = uuid.uuid4().hex
    subscription = await world.other.topics.subscribe(subject)
    assert await world.bus.topics.publish_kept(subject, b"x") is False
    async with asyncio.timeout(PATIENCE_S):
        async for found in subscription:
            assert found == (subject, b"x")
            break
    await subscription.close()


async def test_a_mailbox_is_shared_by_name(world: World) -> None:
    """Each message to one of its readers, with headers and the sender's id; closed, to the other.
    Another name has them all."""
    root = uuid.uuid4().hex
    first = await world.bus.mailbox(f"{root}.*", "m")
    second = await world.other.mailbox(f"{root}.*", "m")
    third = await world.other.mailbox(f"{root}.>", "n")
    for i in range(20):
        headers = {ID_HEADER: f"{root}{i}", "X-Kind": "k"}
        await world.bus.topics.publish(f"{root}.a", b"%d" % i, headers=headers)
    seen: list[tuple[str | None, bytes]] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(seen) < 20:
            for mailbox in (first, second):
                for mail in await mailbox.read(max_messages=5, wait_ms=100):
                    assert (mail.subject, mail.headers["X-Kind"]) == (f"{root}.a", "k")
                    seen.append((mail.id, mail.payload))
                    await mail.acknowledge()
    assert sorted(seen) == sorted((f"{root}{i}", b"%d" % i) for i in range(20))
    copies = 0
    async with asyncio.timeout(PATIENCE_S):
        while copies < 20:
            copies += len(await third.read(max_messages=100, wait_ms=PATIENCE_MS))
    assert list(await first.close()) == []
    await world.bus.topics.publish(f"{root}.b", b"x")
    (mail,) = await second.read(max_messages=5, wait_ms=PATIENCE_MS)
    assert mail.payload == b"x"
    for mailbox in (second, third):
        await mailbox.close()


async def test_who_listens_is_known_from_then_on(world: World) -> None:
    """What another participant sends right behind comes: to subscriptions and to mailboxes."""
    for _ in range(50):
        subject = uuid.uuid4().hex
        subscription = await world.other.topics.subscribe(subject)
        mailbox = await world.other.mailbox(subject, "m")
        await world.bus.topics.publish(subject, b"x")
        async with asyncio.timeout(PATIENCE_S):
            assert await anext(aiter(subscription)) == (subject, b"x")
        (mail,) = await mailbox.read(max_messages=5, wait_ms=PATIENCE_MS)
        assert mail.payload == b"x"
        await subscription.close()
        await mailbox.close()


async def test_who_leaves_a_mailbox_takes_nothing_along(world: World) -> None:
    """What is sent meanwhile comes to whom it was given, up to the end of `close`, or to others."""
    subject = uuid.uuid4().hex
    staying = await world.bus.mailbox(subject, "m")
    got: list[bytes] = []
    for turn in range(20):
        leaving = await world.other.mailbox(subject, "m")
        sending = asyncio.create_task(_send(world.bus, subject, range(turn * 50, turn * 50 + 50)))
        await asyncio.sleep(0)
        got += [mail.payload for mail in await leaving.close()]
        await sending
    async with asyncio.timeout(PATIENCE_S):
        while len(got) < 1_000:
            got += [m.payload for m in await staying.read(max_messages=1_000, wait_ms=PATIENCE_MS)]
    assert sorted(got, key=int) == [b"%d" % i for i in range(1_000)]
    await staying.close()


async def _send(bus: Bus, subject: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        await bus.topics.publish(subject, b"%d" % number)
        await asyncio.sleep(0)


async def test_who_answers_no_more_leaves_no_question_behind(world: World) -> None:
    """What was asked before is answered, what is asked behind `close` goes to the next, at once."""
    subject = uuid.uuid4().hex

    async def answer(payload: bytes) -> bytes:
        return payload

    answering = await world.other.topics.respond(subject, answer, queue="q")
    for turn in range(20):
        asking = [
            asyncio.create_task(
                world.bus.topics.request(subject, b"%d" % i, timeout_ms=PATIENCE_MS)
            )
            for i in range(20)
        ]
        await asyncio.sleep(0)
        before, answering = answering, await world.other.topics.respond(subject, answer, queue="q")
        await before.close()
        assert await world.bus.topics.request(subject, b"%d" % turn, timeout_ms=PATIENCE_MS)
        assert await asyncio.gather(*asking) == [b"%d" % i for i in range(20)]
    await answering.close()


async def test_topics_reach_every_subscriber(world: World) -> None:
    """With wildcards; in order; not those of other subjects."""
    root = uuid.uuid4().hex
    exact = await world.other.topics.subscribe(f"{root}.a.b")
    wide = await world.other.topics.subscribe(f"{root}.*.b")
    all_of_it = await world.bus.topics.subscribe(f"{root}.>")
    got = {name: [] for name in ("exact", "wide", "all")}  # type: dict[str, list[bytes]]

    async def collect(name: str, subscription: object, count: int) -> None:
        async for _, payload in subscription:  # type: ignore[attr-defined]
            got[name].append(payload)
            if len(got[name]) == count:
                return

    tasks = [
        asyncio.create_task(collect("exact", exact, 1)),
        asyncio.create_task(collect("wide", wide, 2)),
        asyncio.create_task(collect("all", all_of_it, 3)),
    ]
    for subject, payload in ((f"{root}.a.b", b"1"), (f"{root}.c.b", b"2"), (f"{root}.x", b"3")):
        await world.bus.topics.publish(subject, payload)
    await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE_S)
    assert got == {"exact": [b"1"], "wide": [b"1", b"2"], "all": [b"1", b"2", b"3"]}
    for subscription in (exact, wide, all_of_it):
        await subscription.close()
        await subscription.close()


async def test_a_closed_subscription_ends(world: World) -> None:
    """Its iteration ends after what had come before."""
    subscription = await world.bus.topics.subscribe(uuid.uuid4().hex)
    await subscription.close()
    assert [message async for message in subscription] == []


async def test_requests_are_answered(world: World) -> None:
    """One responder answers many requests at the same time."""
    subject = uuid.uuid4().hex

    async def shout(payload: bytes) -> bytes:
        return payload.upper()

    responding = await world.other.topics.respond(subject, shout, queue="q")
    answers = await asyncio.gather(
        *(world.bus.topics.request(subject, b"a%d" % i, timeout_ms=PATIENCE_MS) for i in range(20))
    )
    assert answers == [b"A%d" % i for i in range(20)]
    await responding.close()
    with pytest.raises(UnavailableError):
        await world.bus.topics.request(subject, b"x", timeout_ms=QUIET_MS)


async def test_an_answer_has_a_longest_length(world: World) -> None:
    """Up to that it arrives whole. Who answers can tell beforehand."""
    subject = uuid.uuid4().hex
    limit_bytes = world.other.topics.max_answer_bytes

    async def answer(payload: bytes) -> bytes:
        return bytes(limit_bytes + int(payload))

    await world.other.topics.respond(subject, answer)
    found = await world.bus.topics.request(subject, b"0", timeout_ms=PATIENCE_MS)
    assert len(found) == limit_bytes
    with pytest.raises(UnavailableError):
        await world.bus.topics.request(subject, b"2000000", timeout_ms=QUIET_MS)


async def test_a_request_without_answer_times_out(world: World) -> None:
    """A responder that hangs does not hang the caller."""
    subject = uuid.uuid4().hex

    async def hang(_: bytes) -> bytes:
        await asyncio.Event().wait()
        return b""

    await world.other.topics.respond(subject, hang)
    with pytest.raises(UnavailableError):
        await world.bus.topics.request(subject, b"x", timeout_ms=100)


async def test_a_closed_bus_is_not_healthy(world: World) -> None:
    """Closing twice is fine; afterwards nothing can be reached."""
    bus = await world.carrier.connect()
    await eventually(bus.healthy)
    await bus.close()
    await bus.close()
    assert not await bus.healthy()
    with pytest.raises(UnavailableError):
        await bus.topics.publish("x", b"")
