"""Read models: bounded, in order, indifferent to repetition."""

from lockstep.events import Attribute, AttributeType, Operation, OutputId, OutputRow, StreamSchema
from lockstep.events.outputs import RowsOfColumns, in_columns, joined
from lockstep_services.presenter.models import (
    ALL_ROWS,
    RESHAPED,
    TRIMMED,
    Fresh,
    StreamModel,
    TableModel,
    identity,
    parse_identity,
)

SCHEMA = StreamSchema(
    "S", (Attribute("k", AttributeType.STRING), Attribute("v", AttributeType.INT))
)


def row(at: int, k: str = "a", v: int = 0, operation: Operation = Operation.EVENT) -> OutputRow:
    """A row at a position."""
    return OutputRow(OutputId(at, 0), "S", at * 10, (k, v), operation)


def rows_at(*positions: int) -> RowsOfColumns:
    """Rows as they come out of the log."""
    return in_columns([row(at) for at in positions])


def test_of_many_rows_at_once_the_first_are_only_counted() -> None:
    """What nobody can be handed is not made."""
    fresh = StreamModel(SCHEMA, 2, hand_on_rows=3).add(rows_at(*range(1, 6)), 0)
    assert [one.id.position for one in fresh.rows] == [3, 4, 5]
    assert (fresh.skipped, fresh.count) == (2, 5)


def test_the_last_rows_newest_first() -> None:
    """At most the history, and no row twice."""
    model = StreamModel(SCHEMA, 3)
    model.add(rows_at(*range(1, 6)), 0)
    assert model.add(rows_at(4, 5), 0) == Fresh([])
    assert [one.id.position for one in model.latest(10)] == [5, 4, 3]
    assert model.total == 5


def test_rows_of_another_shape_are_not_shown() -> None:
    """An earlier version of the app published them."""
    narrow = [OutputRow(OutputId(at, 0), "S", at, (at,)) for at in (1, 2)]
    both = joined([in_columns(narrow), rows_at(3)])
    stream, table = StreamModel(SCHEMA, 10), TableModel(SCHEMA, ["k", "v"], 10)
    assert [one.id.position for one in stream.add(both, 0).rows] == [3]
    assert [one.as_json(SCHEMA.names)["event"] for one in stream.latest(5)] == [{"k": "a", "v": 0}]
    table.add(both)
    assert len(table) == 1


def test_rows_of_an_earlier_version_are_shown_as_their_stream_is_now() -> None:
    """By name, and in the types of now; a row that cannot is not shown."""
    had = (Attribute("v", AttributeType.LONG), Attribute("k", AttributeType.STRING))
    before = [
        OutputRow(OutputId(at, 0), "S", at, (v, "b"), Operation.UPSERT)
        for at, v in enumerate((1, 1 << 40, 2), 1)
    ]
    both = joined([in_columns(before, {"S": StreamSchema("S", had)}), rows_at(4)])
    stream, table = StreamModel(SCHEMA, 10), TableModel(SCHEMA, ["k"], 10)
    fresh = stream.add(both, 0).rows
    assert [(one.id.position, one.data) for one in fresh] == [
        (1, ("b", 1)), (3, ("b", 2)), (4, ("a", 0)),
    ]  # fmt: skip
    table.add(both)
    assert [one.data for one in table.rows(10)] == [("a", 0), ("b", 2)]
    assert table.missing is not None
    assert RESHAPED in table.missing


def test_rows_behind_an_identity_and_a_gap() -> None:
    """A listener that was away too long is told."""
    model = StreamModel(SCHEMA, 3)
    model.add(rows_at(*range(1, 6)), 0)
    rows, gap = model.after(OutputId(4, 0))
    assert ([one.id.position for one in rows], gap) == ([5], False)
    rows, gap = model.after(OutputId(1, 0))
    assert ([one.id.position for one in rows], gap) == ([3, 4, 5], True)


def test_the_rate_forgets() -> None:
    """Ten seconds count."""
    model = StreamModel(SCHEMA, 10)
    model.add(rows_at(1, 2), 1_000)
    assert model.rate_per_s(2_000) == 0.2
    assert model.rate_per_s(12_000) == 0.0


def test_a_table_keeps_the_present_rows_by_key() -> None:
    """Upserts replace, deletions remove, repetition does nothing."""
    model = TableModel(SCHEMA, ["k"], 10)
    changes = [
        row(1, "a", 1, Operation.UPSERT),
        row(2, "b", 1, Operation.UPSERT),
        row(3, "a", 2, Operation.UPSERT),
        row(4, "b", 1, Operation.DELETE),
    ]
    model.add(changes)
    model.add(changes)
    assert [one.data for one in model.rows(10)] == [("a", 2)]


def test_a_table_over_its_limit_forgets_the_oldest_change_and_says_so() -> None:
    """Bounded, never silently."""
    model = TableModel(SCHEMA, ["k"], 2)
    model.add([row(i, str(i), i, Operation.UPSERT) for i in range(1, 4)])
    assert [one.data[0] for one in model.rows(10)] == ["3", "2"]
    assert model.forgotten == 1
    assert "the 2 that changed last (presenter.table_rows)" in (model.missing or "")


def test_a_table_that_may_lack_rows_says_why_and_what_to_do() -> None:
    """Each reason there is, once; one that lacks none has nothing to say."""
    model = TableModel(SCHEMA, ["k"], 10)
    model.add([row(1, "a", 1, Operation.UPSERT)])
    told = [model.missing]
    model.cut(OutputId(2, 0))
    told.append(model.missing)
    for at in (3, 4):
        model.add([OutputRow(OutputId(at, 0), "S", 1, ("a", 1, 2), Operation.UPSERT)])
    told.append(model.missing)
    reasons = (TRIMMED, f"{TRIMMED}; {RESHAPED}")
    assert told == [None, *(f"Rows may be missing: {each}. {ALL_ROWS}" for each in reasons)]


def test_identities_as_text() -> None:
    """There and back; anything else is none."""
    assert parse_identity(identity(OutputId(12, 3))) == OutputId(12, 3)
    assert [parse_identity(text) for text in ("", "1", "a.b", "1.", "-1.0", "1.2.3")] == [None] * 6
