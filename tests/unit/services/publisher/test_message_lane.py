"""What a lane does with rows that no message can hold or no sink can send, and with the names of a
table."""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from lockstep.bus import RecordTooLargeError
from lockstep.bus.errors import BusRefusedError
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.bus.subjects import InvalidNameError
from lockstep.clock import VirtualClock
from lockstep.connectors.email.sink import EmailSink
from lockstep.connectors.mqtt.sink import MqttSink
from lockstep.connectors.tcp.sink import TcpSink
from lockstep.events import FencedError, OutputRow, UnavailableError
from lockstep.operators.limits import LimitError
from lockstep.sinks import Message, Sink
from lockstep.tls import TlsError
from lockstep_services.publisher.contract import (
    Batch,
    RefusedRow,
    RowsRefusedError,
    SinkBinding,
    SinkSetupError,
)
from lockstep_services.publisher.sinks.kafka_records import Record, Records
from lockstep_services.publisher.sinks.nats import nats_sink
from tests.unit.services.publisher.parts import Told, row, sink_of, stored_sink

TABLE = "@map(type='csv', header='true')"


def deep() -> Any:
    """Deeper than JSON is written, and than this process could make a text of it."""
    value: Any = 1
    for _ in range(sys.getrecursionlimit()):
        value = [value]
    return value


@pytest.mark.parametrize("options", ["", ", @map(type='xml')", ", prefix='{{v}}'"])
async def test_a_row_that_no_message_can_hold_is_refused_alone(options: str) -> None:
    """Those around it arrive, and nothing comes twice."""

    class Filling(Told):
        """Fills an option, as many sinks do."""

        async def send(self, message: Any) -> None:
            """Fills it first."""
            message.fill("{{v}}")
            await super().send(message)

    told = Filling()
    sink = stored_sink(f"@sink(type='log'{options}) define stream S (v object);", [told])
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(3, [row(1, "a"), row(2, deep()), row(3, "c")]))
    assert [refused.row.id.position for refused in caught.value.refused] == [2]
    await sink.deliver(Batch(3, [row(1, "a"), row(3, "c")]))
    assert len(told.taken) == 2


async def test_a_key_without_a_text_stops_no_sink() -> None:
    """Its row goes to the first destination, which says what is wrong with it."""
    told = Told(), Told()
    sink = stored_sink(
        "@sink(type='log', @distribution(strategy='partitioned', partitionKey='v',"
        " @destination(prefix='0'), @destination(prefix='1'))) define stream S (v object);",
        told,
    )
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(1, [row(1, deep())]))
    assert len(caught.value.refused) == 1


async def test_the_names_of_a_table_come_with_the_first_message_that_arrives() -> None:
    """Not with one that was lost on its way, or refused."""
    told = Told()
    sink = stored_sink(f"@sink(type='log', {TABLE}) define stream S (k string, v int);", [told])
    told.is_away = True
    batch = Batch(2, [row(1, "a", 1), row(2, "b", 2)])
    with pytest.raises(UnavailableError):
        await sink.deliver(batch)
    told.is_away = False
    told.refused = {"k,v\na,1\n"}
    with pytest.raises(RowsRefusedError):
        await sink.deliver(batch)
    await sink.deliver(Batch(3, [row(2, "b", 2), row(3, "c", 3)]))
    assert told.texts == ["k,v\nb,2\n", "c,3\n"]


def test_the_names_of_a_table_come_again_with_records_that_were_not_committed() -> None:
    """They are not there, as the records are not."""
    schema, annotation = sink_of(
        f"@sink(type='kafka', bootstrap.servers='h:1', topic='t', {TABLE})"
        " define stream S (k string, v int);"
    )
    records = Records(SinkBinding("A", schema, "S.0.kafka"), annotation)

    def values() -> list[bytes | None]:
        made: list[Record | RefusedRow] = list(records.of([row(1, "a", 1), row(2, "b", 2)]))
        return [one.produced["value"] for one in made if isinstance(one, Record)]

    assert values() == [b"k,v\na,1\n", b"b,2\n"]
    records.not_committed()
    assert values() == [b"k,v\na,1\n", b"b,2\n"]
    assert values() == [b"a,1\n", b"b,2\n"]
    records.not_committed()
    assert values() == [b"a,1\n", b"b,2\n"]


def mailing() -> EmailSink:
    """To whom the row says, by a server that nobody would reach."""
    return EmailSink({"address": "a@b.c", "to": "{{k}}", "subject": "s", "host": "127.0.0.1"})


def telling() -> Sink:
    """The subject that the row says."""
    topics = MemoryBus(MemoryCarrier(VirtualClock())).topics
    return nats_sink({"destination": "x.{{k}}"}, topics, None, "A")


@pytest.mark.parametrize(
    ("sink", "odd"),
    [
        (partial(TcpSink, {"url": "tcp://{{k}}:9/c"}), ["a..b", "[", "h:99999"]),
        (mailing, ["<", "x@["]),
        (telling, ["城" * 341, "a..b"]),
        (partial(MqttSink, {"url": "tcp://127.0.0.1:9", "topic": "{{k}}"}), ["x" * 65_536, "a/#"]),
    ],
)
async def test_a_row_that_a_sink_cannot_send_is_refused_alone(
    sink: Callable[[], Sink], odd: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    """It never stops the sink, whatever the error is. Who made the row is told what it was."""
    lane = stored_sink("@sink(type='log') define stream S (k string);", [sink()])
    rows = [row(number, text) for number, text in enumerate(odd, 1)]
    with pytest.raises(RowsRefusedError) as caught, caplog.at_level(logging.WARNING):
        await lane.deliver(Batch(9, rows))
    assert [one.row for one in caught.value.refused] == rows
    assert caplog.records == []
    await lane.close()


class Stumbling(Told):
    """Raises what it is told for one payload."""

    def __init__(self, text: str, error: Exception) -> None:
        super().__init__()
        self._text = text
        self._error = error

    async def send(self, message: Message) -> None:
        """Stumbles over a text."""
        if message.payload.decode() == self._text:
            raise self._error
        await super().send(message)


TEXT = "@sink(type='log', @map(type='text', @payload('{{k}}'))) define stream S (k string);"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnicodeError("label too long"), "the sink has no answer to a value: UnicodeError: label"),
        (AttributeError("no such"), "the sink has no answer to a value: AttributeError: no such"),
        (RecursionError(), "it is nested too deep"),
        (LimitError("too long a value"), "too long a value"),
        (InvalidNameError("a name of 300 bytes"), "a name of 300 bytes"),
        (RecordTooLargeError(9, 5), "a record of 9 bytes"),
    ],
)
async def test_whatever_a_sink_stumbles_over_the_rows_around_it_arrive(
    error: Exception, reason: str
) -> None:
    """Values cause errors of many kinds."""
    told = Stumbling("b", error)
    sink = stored_sink(TEXT, [told])
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(3, [row(1, "a"), row(2, "b"), row(3, "c")]))
    (refused,) = caught.value.refused
    assert (refused.row.id.position, refused.reason[: len(reason)]) == (2, reason)
    assert told.texts == ["a", "c"]


async def test_a_mistake_of_a_sink_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """With where it is, so that it can be mended. What it says goes with the row, where secrets are
    taken out of it."""

    password = "xyz"

    class Mistaken(Told):
        """Has a place of its own in the code."""

        async def send(self, message: Message) -> None:
            """Takes nothing."""
            raise KeyError(password)

    sink = stored_sink(TEXT, [Mistaken()])
    with caplog.at_level(logging.WARNING):
        for position in (1, 2):
            with pytest.raises(RowsRefusedError):
                await sink.deliver(Batch(position, [row(position, "b")]))
    (record,) = caplog.records
    told = record.getMessage()
    assert "the sink has no answer to a value: KeyError\n" in told
    assert "test_message_lane.py" in told
    assert password not in told
    assert record.exc_info is None


@pytest.mark.parametrize(
    "error",
    [
        FencedError("another publisher delivers"),
        SinkSetupError("no such table"),
        TlsError("no such certificate"),
        BusRefusedError("not let in"),
        RuntimeError("no row's fault"),
    ],
)
async def test_what_is_no_fault_of_a_row_refuses_none(error: Exception) -> None:
    """It stays in the output log."""
    sink = stored_sink(TEXT, [Stumbling("b", error)])
    with pytest.raises(type(error)):
        await sink.deliver(Batch(1, [row(1, "b")]))


GROUPED = "event.grouping.enabled='true'"


def of_one_record(*values: object) -> list[OutputRow]:
    """Rows that one record of input caused together."""
    return [row(7, value, ordinal=number) for number, value in enumerate(values)]


async def test_a_row_that_cannot_be_written_takes_none_of_its_group_with_it() -> None:
    """The others are one message, which has the same identity whenever it is sent again."""
    told = Told()
    rows = of_one_record(math.nan, 1.0, deep(), 4.0)
    for _ in range(2):  # by a second publisher, too
        sink = stored_sink(
            f"@sink(type='log', @map(type='json', {GROUPED})) define stream S (v object);", [told]
        )
        told.is_away = True
        with pytest.raises(UnavailableError):
            await sink.deliver(Batch(7, rows))
        told.is_away = False
        with pytest.raises(RowsRefusedError) as caught:
            await sink.deliver(Batch(7, rows))
        assert [(one.row.id.ordinal, one.reason) for one in caught.value.refused] == [
            (0, "JSON has no NaN"),
            (2, "more than 200 levels of JSON"),
        ]
        await sink.deliver(Batch(7, [rows[1], rows[3]]))
    wanted = ("A/main/0/7.1-3", '[{"event":{"v":1.0}},{"event":{"v":4.0}}]')
    assert [(one.id, one.payload.decode()) for one in told.taken] == [wanted, wanted]


async def test_a_group_without_a_row_that_can_be_written_is_no_message() -> None:
    """Each is refused for its own reason."""
    told = Told()
    sink = stored_sink(
        f"@sink(type='log', @map(type='json', {GROUPED})) define stream S (v object);", [told]
    )
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(7, of_one_record(math.nan, deep())))
    assert [one.reason for one in caught.value.refused] == [
        "JSON has no NaN",
        "more than 200 levels of JSON",
    ]
    assert told.taken == []


async def test_the_names_of_a_table_are_in_front_of_what_is_left_of_a_group() -> None:
    """Though rows of it were tried alone before."""
    told = Told()
    sink = stored_sink(
        f"@sink(type='log', @map(type='csv', header='true', {GROUPED}))"
        " define stream S (v object);", [told],
    )  # fmt: skip
    with pytest.raises(RowsRefusedError) as caught:
        await sink.deliver(Batch(7, of_one_record(deep(), 1, 2)))
    assert len(caught.value.refused) == 1
    assert told.texts == ["v\n1\n2\n"]


def test_a_row_that_cannot_be_written_takes_none_of_its_record_with_it() -> None:
    """Of Kafka, too."""
    schema, annotation = sink_of(
        f"@sink(type='kafka', bootstrap.servers='h:1', topic='t', @map(type='json', {GROUPED}))"
        " define stream S (v double);"
    )
    records = Records(SinkBinding("A", schema, "S.0.kafka"), annotation)
    refused, made = records.of(of_one_record(1.0, math.nan, 4.0))
    assert isinstance(refused, RefusedRow)
    assert (refused.row.id.ordinal, refused.reason) == (1, "JSON has no NaN")
    assert isinstance(made, Record)
    assert made.produced["value"] == b'[{"event":{"v":1.0}},{"event":{"v":4.0}}]'
    assert made.produced["headers"]["Lockstep-Id"] == "A/main/0/7.0-2"
    assert [one.id.ordinal for one in made.rows] == [0, 2]
