"""Rows of a batch as table changes: the last change of a key counts."""

from lockstep.events import Attribute, AttributeType, Operation, OutputId, OutputRow, StreamSchema
from lockstep_services.publisher.rdbms.changes import keyed_changes, one_by_one
from lockstep_services.publisher.rdbms.sql import TableSql, quoted

SCHEMA = StreamSchema(
    "T",
    (
        Attribute("k", AttributeType.STRING),
        Attribute("n", AttributeType.INT),
        Attribute("o", AttributeType.OBJECT),
    ),
)


def change(at: int, *data: object, operation: Operation = Operation.UPSERT) -> OutputRow:
    """A change of the table."""
    return OutputRow(OutputId(at, 0), "T", 0, tuple(data), operation)


def test_the_last_change_of_a_key_counts() -> None:
    """Upserts collapse, a deletion behind an upsert deletes, an upsert behind a deletion stays."""
    rows = [
        change(1, "a", 1, None),
        change(2, "a", 2, {"x": 1}),
        change(3, "b", 1, None),
        change(4, "b", 1, None, operation=Operation.DELETE),
        change(5, "c", 1, None, operation=Operation.DELETE),
        change(6, "c", 9, None),
    ]
    changes = keyed_changes(rows, SCHEMA, ["k"])
    assert changes.upserts == [["a", "c"], [2, 9], ['{"x":1}', None]]
    assert changes.deletes == [["b"]]


def test_a_deletion_may_bear_the_key_alone() -> None:
    """As wide as the key."""
    changes = keyed_changes([change(1, "a", operation=Operation.DELETE)], SCHEMA, ["k"])
    assert (changes.upserts, changes.deletes) == ([], [["a"]])


def test_composite_keys_in_the_keys_order() -> None:
    """Deletes come as columns of the key."""
    rows = [change(1, "a", 1, None, operation=Operation.DELETE)]
    assert keyed_changes(rows, SCHEMA, ["n", "k"]).deletes == [[1], ["a"]]


def test_one_by_one_is_the_net_effect_in_its_order() -> None:
    """Deletions first, then of each key the last change; behind it what counts without it."""
    rows = [
        change(1, "a", 1, None),
        change(2, "b", 1, None),
        change(3, "c", 1, None),
        change(4, "a", 2, None),
        change(5, "b", operation=Operation.DELETE),
        change(6, "a", 3, None),
    ]
    found = [[row.id.position for row in one] for one in one_by_one(rows, SCHEMA, ["k"])]
    assert found == [[5, 2], [6, 4, 1], [3]]
    found = [[row.id.position for row in one] for one in one_by_one(rows, SCHEMA, [])]
    assert found == [[1], [2], [3], [4], [5], [6]]


def test_identifiers_cannot_break_out() -> None:
    """Quotes are doubled; a dot separates the schema."""
    assert quoted('a"; drop table x; --') == '"a""; drop table x; --"'
    assert quoted("app.t") == '"app"."t"'


def test_a_table_of_keys_only_has_nothing_to_update() -> None:
    """DO NOTHING instead of an empty SET."""
    sql = TableSql("t", StreamSchema("T", SCHEMA.attributes[:1]), ("k",))
    assert sql.upsert.endswith("DO NOTHING")
    assert sql.create == 'CREATE TABLE IF NOT EXISTS "t" ("k" text, PRIMARY KEY ("k"))'
