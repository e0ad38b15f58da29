"""From a server's messages to what each transaction did to a table."""

from __future__ import annotations

import struct

import pytest

from lockstep.databases import DatabaseError, RowChange, TableShape
from lockstep.databases.postgres.pgoutput import (
    Begin,
    Commit,
    Deleted,
    Message,
    Relation,
    Truncated,
    Written,
    read_message,
)
from lockstep.databases.postgres.transactions import Decoder, Snapshot
from lockstep.databases.postgres.values import check_fit
from lockstep.events import AttributeType

SHAPE = TableShape(
    "customers", ("id", "name", "gold"),
    (AttributeType.INT, AttributeType.STRING, AttributeType.BOOL), ("id",),
)  # fmt: skip
RELATION = Relation(7, "public", "customers", ("name", "id", "gold"), (25, 23, 16))


def _done(*messages: Message) -> list[list[tuple[RowChange, tuple[object, ...]]]]:
    all_of_it = [RELATION, Begin(100, 5), *messages, Commit(120)]
    [transaction] = Decoder(SHAPE, 7).transactions(all_of_it)
    assert transaction.end == 120
    return [chunk for chunk in transaction.chunks if chunk]


def test_of_each_key_the_last_change_counts() -> None:
    """Whatever came before; other tables' changes are nobody's business here."""
    assert _done(
        Written(7, ("ann", "1", "t")),
        Written(9, ("x",)),
        Deleted(7, (None, "2", None)),
        Written(7, ("bob", "2", "f")),
        Deleted(7, (None, "1", None)),
    ) == [[(RowChange.ROW, (2, "bob", False)), (RowChange.GONE, (1, None, None))]]


def test_a_changed_key_is_a_row_that_goes_and_one_that_comes() -> None:
    """The server tells the key before."""
    assert _done(Written(7, ("ann", "3", None), (None, "1", None))) == [
        [(RowChange.GONE, (1, None, None)), (RowChange.ROW, (3, "ann", None))]
    ]


def test_an_emptied_table_forgets_what_the_transaction_did_before() -> None:
    """What came behind counts, in a chunk of its own."""
    assert _done(Written(7, ("a", "1", None)), Truncated((7, 9)), Written(7, ("b", "2", None))) == [
        [(RowChange.ALL_GONE, (None, None, None))],
        [(RowChange.ROW, (2, "b", None))],
    ]


def test_a_column_that_is_gone_and_a_deletion_without_key() -> None:
    """Both say what to do."""
    with pytest.raises(DatabaseError, match="no column 'gold'"):
        _ = list(Decoder(SHAPE, 7).transactions([Relation(7, "p", "c", ("id", "name"), (23, 25))]))
    with pytest.raises(DatabaseError, match="REPLICA IDENTITY"):
        _done(Deleted(7, ("ann", None, None)))


def test_types_that_would_lose_something_are_refused() -> None:
    """With the types that fit."""
    check_fit("t", "c", AttributeType.LONG, 23, "integer")
    with pytest.raises(DatabaseError, match=r"no int .*long or string"):
        check_fit("t", "c", AttributeType.INT, 20, "bigint")


def test_what_a_load_has_seen() -> None:
    """Also where the numbers of transactions have begun anew."""
    seen = Snapshot.read("10:20:12,15")
    assert [number for number in range(8, 22) if not seen.has_seen(number)] == [12, 15, 20, 21]
    late = Snapshot.read(f"{2**32 - 2}:{2**32 + 3}:{2**32 + 1}")
    assert [late.has_seen(n) for n in (2**32 - 3, 2**32 - 1, 0, 1, 2, 3)] == [
        True, True, True, False, True, False,
    ]  # fmt: skip


def _text(value: str) -> bytes:
    return b"t" + struct.pack(">i", len(value.encode())) + value.encode()


def test_messages_as_they_come_over_the_wire() -> None:
    """Rows with nulls and values that are not told; what is damaged is refused."""
    row = struct.pack(">H", 3) + _text("é") + b"n" + b"u"
    told = read_message(b"U" + struct.pack(">I", 7) + b"O" + struct.pack(">H", 3) + _text("a")
                        + _text("b") + _text("c") + b"N" + row)  # fmt: skip
    assert told == Written(7, ("é", None, "c"), ("a", "b", "c"))
    assert read_message(b"B" + struct.pack(">QqI", 1, 2, 3)) == Begin(1, 3)
    assert read_message(b"C" + struct.pack(">BQQq", 0, 1, 9, 3)) == Commit(9)
    assert read_message(b"T" + struct.pack(">IBI", 1, 0, 7)) == Truncated((7,))
    assert read_message(b"O" + b"rest") is None
    for damaged in (b"", b"I\0", b"X1", b"I" + struct.pack(">I", 7) + b"N" + row[:6]):
        with pytest.raises(DatabaseError):
            read_message(damaged)
