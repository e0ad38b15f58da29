"""Sinks whose cursor lies in the store: what arrives where, after trouble and after a crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.events import UnavailableError
from lockstep.mapping import MessageWriter, build_distribution, destinations
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.connectors import options_of
from lockstep_services.publisher.contract import Batch, RowsRefusedError, SinkBinding
from lockstep_services.publisher.sinks.cursor import StoredCursorSink
from lockstep_services.publisher.sinks.file import FileLane
from tests.unit.services.publisher.parts import Cursors, Told, row, sink_of, stored_sink

PLAIN = "@sink(type='log', @map(type='text', @payload('{{k}}{{v}}'))) " + (
    "define stream S (k string, v int);"
)


def spread(strategy: str, count: int, more: str = "") -> str:
    """PLAIN over several destinations."""
    places = ", ".join(["@destination(prefix='p')"] * count)
    return PLAIN.replace("'))) ", f"')), @distribution(strategy='{strategy}'{more}, {places})) ")


ROWS = [row(1, "a", 1), row(2, "b", 2), row(3, "c", 3), row(4, "d", 4)]


async def test_the_cursor_moves_behind_what_has_arrived() -> None:
    """Ids are the outputs' identities."""
    told, cursors = Told(), Cursors()
    sink = stored_sink(PLAIN, [told], cursors)
    assert await sink.open() == 0
    await sink.deliver(Batch(9, ROWS))
    assert told.texts == ["a1", "b2", "c3", "d4"]
    assert [message.id for message in told.taken][:2] == ["A/main/0/1.0", "A/main/0/2.0"]
    assert cursors.puts == [("A/S.0.log", 9)]
    assert await sink.open() == 9


async def test_a_batch_tried_again_goes_on_where_it_stopped() -> None:
    """And what is given up are the rows that have not arrived, no others."""
    told = Told()
    sink = stored_sink(PLAIN, [told])
    await sink.open()
    told.away = {"c3"}
    batch = Batch(9, ROWS)
    with pytest.raises(UnavailableError):
        await sink.deliver(batch)
    assert told.texts == ["a1", "b2"]
    assert list(sink.pending(batch)) == ROWS[2:]
    told.away = set()
    await sink.deliver(batch)
    assert told.texts == ["a1", "b2", "c3", "d4"]


async def test_refused_rows_hold_up_nobody() -> None:
    """All of them are told at once, and those behind them have arrived."""
    told = Told()
    sink = stored_sink(PLAIN, [told])
    await sink.open()
    told.refused = {"a1", "c3"}
    with pytest.raises(RowsRefusedError) as error:
        await sink.deliver(Batch(9, ROWS))
    assert [one.row for one in error.value.refused] == [ROWS[0], ROWS[2]]
    await sink.deliver(Batch(9, [ROWS[1], ROWS[3]]))
    assert told.texts == ["b2", "d4"]


async def test_several_under_way_stay_accounted_for_one_by_one() -> None:
    """A sink may take many at once; one that fails does not repeat the others."""

    class Wide(Told):
        in_flight = 3

    told = Wide()
    sink = stored_sink(PLAIN, [told])
    await sink.open()
    told.away, told.refused = {"b2"}, {"a1"}
    batch = Batch(9, ROWS)
    with pytest.raises(UnavailableError):
        await sink.deliver(batch)
    assert told.texts == ["c3"]
    told.away = set()
    with pytest.raises(RowsRefusedError):
        await sink.deliver(batch)
    assert told.texts == ["c3", "b2", "d4"]


async def test_a_value_that_cannot_be_written_is_refused() -> None:
    """validate.json finds that the template made no JSON of it."""
    told = Told()
    sink = stored_sink(
        "@sink(type='log', @map(type='json', validate.json='true', "
        '@payload("""{"k": "{{k}}"}"""))) define stream S (k string, v int);',
        [told],
    )
    await sink.open()
    with pytest.raises(RowsRefusedError, match="the payload is"):
        await sink.deliver(Batch(9, [row(1, 'say "x"', 1), row(2, "b", 2)]))
    assert told.texts == ['{"k": "b"}']


@pytest.mark.parametrize(
    ("strategy", "more", "expected"),
    [
        ("roundRobin", "", [["a1", "c3"], ["b2", "d4"]]),
        ("broadcast", "", [["a1", "b2", "c3", "d4"]] * 2),
        # Java's hash of 'a' is 97: an odd one goes to the second.
        ("partitioned", ", partitionKey='k'", [["b2", "d4"], ["a1", "c3"]]),
    ],
)
async def test_distribution(strategy: str, more: str, expected: list[list[str]]) -> None:
    """Each row where its strategy says, under one cursor."""
    tolds, cursors = [Told(), Told()], Cursors()
    sink = stored_sink(spread(strategy, 2, more), tolds, cursors)
    await sink.open()
    await sink.deliver(Batch(9, ROWS))
    assert [told.texts for told in tolds] == expected
    assert cursors.kept["A/S.0.log"] == 9


async def test_a_chunk_takes_one_turn() -> None:
    """What was published by one call goes to one destination."""
    tolds = [Told(), Told()]
    sink = stored_sink(spread("roundRobin", 2), tolds)
    await sink.open()
    rows = [row(1, "a", 1), row(1, "b", 2, ordinal=1), row(2, "c", 3)]
    await sink.deliver(Batch(9, rows))
    assert [told.texts for told in tolds] == [["a1", "b2"], ["c3"]]


async def test_a_crash_sends_a_batch_again_to_the_same_destinations() -> None:
    """The turn is kept with the cursor, so another publisher routes as this one did."""
    cursors = Cursors()
    first = [Told(), Told()]
    sink = stored_sink(spread("roundRobin", 2), first, cursors)
    await sink.open()
    await sink.deliver(Batch(1, ROWS[:1]))
    first[0].is_away = first[1].is_away = True
    with pytest.raises(UnavailableError):
        await sink.deliver(Batch(4, ROWS[1:]))
    again = [Told(), Told()]
    other = stored_sink(spread("roundRobin", 2), again, cursors)
    assert await other.open() == 1
    await other.deliver(Batch(4, ROWS[1:]))
    assert [told.texts for told in again] == [["c3"], ["b2", "d4"]]
    puts = [key for key, _ in cursors.puts]
    assert puts == ["A/S.0.log", "A/S.0.log/turn"] * 2


async def test_round_robin_passes_over_who_is_away() -> None:
    """The next one takes its turn; nobody gets a row twice."""
    tolds = [Told(), Told()]
    sink = stored_sink(spread("roundRobin", 2), tolds)
    await sink.open()
    tolds[0].is_away = True
    await sink.deliver(Batch(9, ROWS))
    assert sorted(tolds[1].texts) == ["a1", "b2", "c3", "d4"]
    assert tolds[0].texts == []


async def test_round_robin_waits_for_a_file_that_is_away(tmp_path: Path) -> None:
    """A file knows the last identity that it has. It would take earlier rows for repetitions."""
    there, away = tmp_path / "there" / "a.csv", tmp_path / "away" / "b.csv"
    schema, annotation = sink_of(
        "@sink(type='file', @map(type='csv'), @distribution(strategy='roundRobin', "
        f"@destination(file.uri='file:{there}'), @destination(file.uri='file:{away}'))) "
        "define stream S (k string, v int);"
    )
    binding = SinkBinding("A", schema, "S.0.file")
    lanes = [
        FileLane(binding, MessageWriter(schema, each), options_of(ExtensionKind.SINK, each))
        for each in destinations(annotation)
    ]
    cursors = Cursors()
    sink = StoredCursorSink(binding, cursors, build_distribution(schema, annotation), lanes)
    await sink.open()
    await sink.deliver(Batch(2, ROWS[:2]))
    await sink.close()
    away.parent.rename(tmp_path / "aside")
    away.parent.write_text("no folder")
    with pytest.raises(UnavailableError):
        await sink.deliver(Batch(9, ROWS[2:]))
    assert cursors.kept["A/S.0.file"] == 2
    away.parent.unlink()
    (tmp_path / "aside").rename(away.parent)
    await sink.deliver(Batch(9, ROWS[2:]))
    assert there.read_text().split() == ["a,1", "c,3"]
    assert away.read_text().split() == ["b,2", "d,4"]
    assert cursors.kept["A/S.0.file"] == 9


async def test_round_robin_goes_on_with_those_that_take_rows_in_any_order() -> None:
    """Of three destinations one is away, and one takes rows in order only."""

    class InOrder(Told):
        takes_again = False

    tolds = [Told(), InOrder(), Told()]
    sink = stored_sink(spread("roundRobin", 3), tolds)
    await sink.open()
    tolds[0].is_away = True
    await sink.deliver(Batch(9, ROWS))
    assert [sorted(told.texts) for told in tolds] == [[], ["b2"], ["a1", "c3", "d4"]]


@pytest.mark.parametrize(
    ("strategy", "more"), [("partitioned", ", partitionKey='k'"), ("broadcast", "")]
)
async def test_others_get_theirs_while_one_is_away(strategy: str, more: str) -> None:
    """What is pending is the share of the one that is away."""
    tolds = [Told(), Told()]
    sink = stored_sink(spread(strategy, 2, more), tolds)
    await sink.open()
    tolds[0].is_away = True
    batch = Batch(9, ROWS)
    for _ in range(2):
        with pytest.raises(UnavailableError):
            await sink.deliver(batch)
    taken = list(tolds[1].texts)
    assert taken == (["a1", "c3"] if more else ["a1", "b2", "c3", "d4"])
    assert list(sink.pending(batch)) == ([ROWS[1], ROWS[3]] if more else ROWS)
    tolds[0].is_away = False
    await sink.deliver(batch)
    assert tolds[1].texts == taken
    assert tolds[0].texts == (["b2", "d4"] if more else ["a1", "b2", "c3", "d4"])


async def test_groups_of_a_chunk_share_a_message() -> None:
    """Where the map says so: with the first and last identity; others stay alone."""
    told = Told()
    sink = stored_sink(
        "@sink(type='log', @map(type='json', event.grouping.enabled='true')) "
        "define stream S (k string, v int);",
        [told],
    )
    await sink.open()
    await sink.deliver(Batch(9, [row(1, "a", 1), row(1, "b", 2, ordinal=1), row(2, "c", 3)]))
    assert told.texts == [
        '[{"event":{"k":"a","v":1}},{"event":{"k":"b","v":2}}]',
        '{"event":{"k":"c","v":3}}',
    ]
    assert [message.id for message in told.taken] == ["A/main/0/1.0-1", "A/main/0/2.0"]


async def test_cloudevents_bear_the_identities_of_rows() -> None:
    """One by one, and in a batch of those that one record caused."""
    definition = "@sink(type='log', @map(type='cloudevents'{})) define stream S (v int);"

    async def delivered(text: str, told: Told) -> None:
        sink = stored_sink(text, [told])
        await sink.open()
        await sink.deliver(Batch(1, [row(1, 5), row(1, 6, ordinal=1)]))

    single, batch = Told(), Told()
    await delivered(definition.format(""), single)
    await delivered(definition.format(", event.grouping.enabled='true'"), batch)
    identities = ["A/main/0/1.0", "A/main/0/1.1"]
    assert [json.loads(text)["id"] for text in single.texts] == identities
    assert [event["id"] for event in json.loads(batch.texts[0])] == identities
    assert {one.content_type for one in batch.taken} == {"application/cloudevents-batch+json"}
