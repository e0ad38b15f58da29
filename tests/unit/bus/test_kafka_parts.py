"""What the Kafka carrier decides without a broker: addresses, names, what counts, sharing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from lockstep.bus import InvalidNameError, LogName, OutputTail, input_subject
from lockstep.bus.kafka.address import BadKafkaAddressError, parse_address
from lockstep.bus.kafka.chain import START, Chain, Link
from lockstep.bus.kafka.ids import BYTES, CHECKED, ID, WRITER, Counting, Known
from lockstep.bus.kafka.names import subject_of, topic_of
from lockstep.bus.kafka.sharing import Note, WorkQueue, decode_note, encode_note
from lockstep.bus.kafka.window import Raw, Window
from lockstep.bus.subjects import log_name
from lockstep.events import UnavailableError


def test_an_address_names_brokers_login_and_files(tmp_path: Path) -> None:
    """Everything that the client needs; the password is shown nowhere."""
    ca = tmp_path / "ca.pem"
    ca.write_text("x")
    url = f"kafka+tls://us%20er:pa%3Ass@a:9092,b:9093?mechanism=PLAIN&prefix=mine&ca={ca}"
    address = parse_address(url)
    assert address.prefix == "mine"
    assert address.shown == "a:9092,b:9093"
    assert address.config == {
        "bootstrap.servers": "a:9092,b:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "us er",
        "sasl.password": "pa:ss",
        "ssl.ca.location": str(ca),
    }
    assert parse_address("kafka://a").config["security.protocol"] == "PLAINTEXT"


def test_a_password_may_stand_in_a_file(tmp_path: Path) -> None:
    """Without the line's end."""
    file = tmp_path / "password"
    file.write_text("secret\n")
    address = parse_address(f"kafka://user@a:9092?password_file={file}")
    assert address.config["sasl.password"] == "secret"
    assert address.config["sasl.mechanism"] == "SCRAM-SHA-512"


@pytest.mark.parametrize(
    "url",
    [
        "nats://a:4222",
        "kafka://",
        "kafka://a?colour=red",
        "kafka://a?prefix=a_b",
        "kafka://a?ca=/etc/hostname",
        "kafka+tls://a?ca=/not/there",
        "kafka://u:p@a?mechanism=GUESS",
        "kafka://u@a?password_file=/not/there",
    ],
)
def test_an_address_that_makes_no_sense_is_refused(url: str) -> None:
    """With the setting's name."""
    with pytest.raises(BadKafkaAddressError) as caught:
        parse_address(url)
    assert caught.value.where == "bus.url"


@pytest.mark.parametrize("app", ["plain", "a.b_c-d~e", "ü >*", "", "-5F", "%41", "a+b"])
def test_topics_tell_their_logs(app: str) -> None:
    """Whatever an app is called; and no topic has an underscore, which collides with a dot."""
    log = LogName(app, "g/1_x", 3, 1_700_000_000_000)
    topic = topic_of("lockstep", input_subject(log))
    assert log_name(subject_of("lockstep", topic)) == log
    assert "_" not in topic


def test_a_name_that_kafka_cannot_bear_is_refused() -> None:
    """Instead of being cut."""
    with pytest.raises(InvalidNameError):
        topic_of("lockstep", input_subject(LogName("a" * 200, "g" * 60)))


def _stored(link: Link, offset: int) -> Raw:
    return Raw(offset, 0, b"", b"xx", dict(link.headers()))


def test_the_first_record_behind_another_counts() -> None:
    """The second one that names the same is void, and so is what a late writer adds."""
    first = START.behind(OutputTail(1, 1, None), 2).stored(0)
    winner = first.behind(OutputTail(2, 2, None), 2).stored(1)
    loser = first.behind(OutputTail(2, 1, None), 2)
    late = START.behind(OutputTail(1, 1, None), 2)
    chain = Chain(START, 0)
    records = [_stored(first, 0), _stored(winner, 1), _stored(loser, 2), _stored(late, 3)]
    assert [chain.take(raw) for raw in records] == [True, True, False, False]
    assert chain.at == winner.stored(1)
    assert chain.at.total_bytes == 4
    behind = chain.at.behind(OutputTail(3, 2, None), 2)
    assert chain.take(_stored(behind, 4))


def test_a_chain_goes_on_where_trimming_has_left_it() -> None:
    """The first record that is kept counts, whatever it stands behind."""
    chain = Chain(START, 0)
    kept = Link(-1, 6, OutputTail(5, 1, None), 10)
    assert chain.take(_stored(kept, 8))
    assert chain.at.tail.sequence == 5


def _record(offset: int, own: bytes | None, checked: int, at_ms: int = 0) -> Raw:
    headers = {BYTES: b"0", WRITER: b"w"}
    if own is not None:
        headers |= {ID: own, CHECKED: b"%d" % checked}
    return Raw(offset, at_ms, b"", b"x", headers)


def test_an_id_that_came_behind_the_check_makes_a_record_void() -> None:
    """One that stood before it was checked does not: its window was over."""
    counting = Counting(0)
    records = [
        _record(0, b"a", 0),
        _record(1, b"a", 0),
        _record(2, None, 0),
        _record(3, b"a", 2),
        _record(4, b"a", 3),
    ]
    assert [counting.take(raw) for raw in records] == [True, False, True, True, False]


def test_a_reader_that_begins_late_asks_for_what_it_lacks() -> None:
    """As far back as the writer had not looked."""
    counting = Counting(5)
    record = _record(5, b"a", 3)
    assert counting.lacks(record) == 3
    counting.learn([_record(3, b"a", 0), _record(4, b"b", 0)], 3)
    assert counting.lacks(record) is None
    assert not counting.take(record)
    assert counting.lacks(_record(6, None, 0)) is None


def test_a_writer_knows_its_own_records_once_nothing_is_between() -> None:
    """Its record behind somebody else's with the same id is the second one."""
    known = Known(5, window_ms=100)
    known.stored(6, b"a", 10, checked=5)
    assert known.reached == 5
    known.take(_record(5, b"a", 5, at_ms=9))
    assert known.reached == 7
    assert known.find(b"a", 10) == 5
    assert known.find(b"a", 200) is None


def test_the_first_claim_counts_until_its_time_is_over() -> None:
    """Then the next one does; what is done is not given out again."""
    queue = WorkQueue(b"me", redelivery_ms=100, window_ms=1_000)
    for offset in range(3):
        queue.take_message(Raw(offset, 0, b"", b"x"), None, is_past=False)
    assert queue.claimable(2, 0) == [(0, 1), (1, 1)]
    assert queue.claimable(2, 0) == [(2, 1)]
    queue.take_note(Note(b"you", claims=[(0, 1)]), 0, 0)
    queue.take_note(Note(b"me", claims=[(0, 1), (1, 1)]), 1, 0)
    assert [(raw.offset, number) for raw, number in queue.won(9)] == [(1, 1)]
    assert queue.next_free_ms() == 100
    queue.take_note(Note(b"me", done=[1]), 2, 50)
    assert queue.claimable(9, 100) == [(0, 2), (2, 1)]
    queue.take_note(Note(b"you", freed=[(0, 1)]), 3, 100)
    queue.take_note(Note(b"me", claims=[(0, 2)]), 4, 100)
    assert [(raw.offset, number) for raw, number in queue.won(9)] == [(0, 2)]
    assert queue.floors(3, 5) == (0, 0)
    queue.take_note(Note(b"me", done=[0, 2]), 5, 100)
    assert queue.floors(3, 6) == (3, 6)
    assert (queue.messages, queue.held_bytes) == ({}, 0)


def test_what_others_take_over_or_do_is_no_longer_ours_to_settle() -> None:
    """It would take up room for ever: nobody acknowledges it here any more."""
    queue = WorkQueue(b"me", redelivery_ms=100, window_ms=1_000)
    for offset in range(4):
        queue.take_message(Raw(offset, 0, b"", b"x"), None, is_past=False)
    queue.take_note(Note(b"me", claims=queue.claimable(4, 0)), 0, 0)
    assert len(queue.won(9)) == queue.given_messages == 4
    queue.take_note(Note(b"you", claims=[(0, 2)]), 1, 100)
    queue.take_note(Note(b"you", done=[1]), 2, 100)
    assert queue.given_messages == 2
    queue.settle(2)
    queue.settle(2)
    assert queue.given_messages == 1
    # Ours once more: it counts again once it is given out again.
    queue.take_note(Note(b"me", claims=[(3, 2)]), 3, 100)
    assert queue.given_messages == 0
    assert [(raw.offset, number) for raw, number in queue.won(9)] == [(3, 2)]
    assert queue.given_messages == 1


def test_a_message_with_a_known_id_is_not_given_out() -> None:
    """Also when the first one was done before this receiver came."""
    queue = WorkQueue(b"me", redelivery_ms=100, window_ms=1_000)
    queue.take_message(Raw(0, 5, b"", b"x"), b"a", is_past=True)
    queue.take_message(Raw(1, 6, b"", b"x"), b"a", is_past=False)
    queue.take_message(Raw(2, 2_000, b"", b"x"), b"a", is_past=False)
    assert list(queue.messages) == [2]


def test_notes_survive_their_bytes() -> None:
    """All of their parts."""
    note = Note(b"me", [(1, 2)], [3], [(4, 5)], 6)
    assert decode_note(encode_note(note)) == note


def test_notes_of_older_and_newer_members_are_read() -> None:
    """What the one does not know the other leaves out, or passes over."""
    parts = [b"me", [(1, 2)], [3], [(4, 5)]]
    known = Note(b"me", [(1, 2)], [3], [(4, 5)])
    assert decode_note(msgspec.msgpack.encode(parts)) == known
    assert decode_note(msgspec.msgpack.encode([*parts, 0, "of tomorrow"])) == known


def test_the_note_of_what_is_done_is_kept() -> None:
    """Without it nothing would say so once Kafka has forgotten the group's offsets."""
    queue = WorkQueue(b"me", redelivery_ms=100, window_ms=1_000)
    queue.take_note(Note(b"me", past=3), 4, 0)
    queue.take_note(Note(b"you", past=2), 5, 0)
    assert queue.past == 3
    assert queue.floors(3, 6) == (3, 4)
    queue.take_note(Note(b"you", past=4), 6, 0)
    assert queue.floors(4, 7) == (4, 6)
    queue.take_note(Note(b"you", claims=[(4, 1)]), 7, 0)
    queue.take_note(Note(b"you", past=5), 8, 0)
    assert queue.floors(4, 9) == (4, 7)


async def test_who_waits_for_records_can_be_called_off_as_they_come() -> None:
    """Else a bus that is closed in that moment would wait for its reader for ever."""
    window = Window(("topic", 0), 0, 1_000)
    waiting = asyncio.ensure_future(window.more(0, 60.0))
    while not window.reading:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    window.fail(UnavailableError("away"))
    waiting.cancel()
    await asyncio.wait([waiting])
    assert waiting.cancelled()


async def test_who_waits_further_on_does_not_wait_for_what_nobody_reads() -> None:
    """A client that has brought enough goes on for a reader at the end of it, which asks for
    nothing that is in front: another one may stay there."""
    window = Window(("topic", 0), 0, 1_000)
    raws = [Raw(offset, 0, b"", b"x" * 500) for offset in range(3)]
    window.posted_bytes = sum(len(raw.value) + 512 for raw in raws)
    window.bring(raws)
    window.take(0, 1, 1)
    assert window.ahead_bytes > 1_000
    await window.more(3, 0.0)
    assert window.ahead_bytes < 500
    await window.more(1, 0.0)
    assert window.ahead_bytes < 500
    assert window.covers(3)
