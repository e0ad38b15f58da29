"""What a lane does with rows that no message can hold, and with the names of a table."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from lockstep.events import UnavailableError
from lockstep_services.publisher.contract import Batch, RefusedRow, RowsRefusedError, SinkBinding
from lockstep_services.publisher.sinks.kafka_records import Record, Records
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
