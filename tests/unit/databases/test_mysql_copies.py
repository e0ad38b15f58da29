"""From what a binary log tells to what each transaction did to a table of MySQL or MariaDB."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lockstep.databases import DatabaseError, RowChange, TableShape
from lockstep.databases.mysql.binlog import (
    CommitTold,
    FileTold,
    PreparedTold,
    RowsTold,
    StatementTold,
    Told,
    UnreadableError,
    own_server_id,
)
from lockstep.databases.mysql.columns import UnlikeError, field_of
from lockstep.databases.mysql.statements import Effect, effect_of
from lockstep.databases.mysql.transactions import EMPTY_EVERY, Assembler, Transaction
from lockstep.events import AttributeType

SHAPE = TableShape(
    "customers", ("id", "name"), (AttributeType.INT, AttributeType.STRING), ("id",)
)  # fmt: skip
FIELDS = (
    field_of("customers", "id", "int(11)", None, AttributeType.INT),
    field_of("customers", "name", "varchar(9)", "utf8mb4", AttributeType.STRING),
)
NOW, GONE, ALL_GONE = RowChange.ROW, RowChange.GONE, RowChange.ALL_GONE
Given = dict[str, Any] | None


def row(id_: Any, name: Any = "n", **more: Any) -> dict[str, Any]:
    """As the log tells it, with columns that nobody wants."""
    return {"id": id_, "name": name, "unwanted": object(), **more}


def rows(*changes: tuple[Given, Given], lacking: str = "") -> RowsTold:
    """Each as it was and as it is."""
    return RowsTold(5, changes, frozenset(filter(None, [lacking])))


def said(text: str) -> StatementTold:
    """A statement in the table's database."""
    return StatementTold(6, "shop", text)


def assembled(*told: Told) -> list[Transaction | FileTold]:
    """What is made of it."""
    assembler = Assembler(SHAPE, FIELDS, ("shop", "customers"), "shop.customers")
    return [one for each in told for one in assembler.transactions(each)]


def test_of_each_key_the_last_change_counts() -> None:
    """Whatever came before in the transaction, in the order of the last changes."""
    told = (
        rows((None, row(1)), (None, row(2))),
        rows((row(1), None), (row(2), row(2, "b"))),
        rows((None, row(1, "c"))),
        CommitTold(9),
    )
    assert assembled(*told) == [Transaction(9, [[(NOW, (2, "b")), (NOW, (1, "c"))]])]


def test_a_changed_key_is_a_row_that_goes_and_one_that_comes() -> None:
    """Also where only the app sees another key, as the server's collation does not."""
    assert assembled(rows((row(1), row(3))), CommitTold(9)) == [
        Transaction(9, [[(GONE, (1, None)), (NOW, (3, "n"))]])
    ]


def test_what_is_undone_or_only_prepared_does_not_count() -> None:
    """Nor what stood at the end of a file that a crash cut off."""
    new = rows((None, row(1)))
    assert assembled(new, said("ROLLBACK"), new, PreparedTold(7), CommitTold(8)) == []
    file = FileTold(2**32 + 4, 1_700_000_000)
    assert assembled(new, file, CommitTold(9)) == [file]
    assert assembled(new, said("COMMIT")) == [Transaction(6, [[(NOW, (1, "n"))]])]


def test_what_is_undone_in_part_has_the_table_read_again() -> None:
    """Which part that is the log does not tell here; without changes before it nothing is lost."""
    new, back = rows((None, row(1))), said("ROLLBACK TO `a`")
    assert assembled(new, back, new, CommitTold(9)) == [Transaction(9, is_remade=True)]
    assert assembled(back, new, CommitTold(9)) == [Transaction(9, [[(NOW, (1, "n"))]])]
    assert assembled(said("XA COMMIT X'78',X'',1")) == [Transaction(6, is_remade=True)]


def test_an_emptied_table_is_a_chunk_of_its_own() -> None:
    """Between what came before and what comes behind."""
    new = rows((None, row(1)))
    gone = Transaction(6, [[(ALL_GONE, (None, None))]])
    found = assembled(new, CommitTold(5), said("TRUNCATE customers"), new, CommitTold(9))
    assert found == [
        Transaction(5, [[(NOW, (1, "n"))]]), gone, Transaction(9, [[(NOW, (1, "n"))]])
    ]  # fmt: skip


def test_places_move_on_without_changes() -> None:
    """Not at each transaction of other tables."""
    found = assembled(*(CommitTold(place) for place in range(1, 2 * EMPTY_EVERY + 1)))
    assert found == [Transaction(EMPTY_EVERY), Transaction(2 * EMPTY_EVERY)]


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (rows((None, {"id": 1})), "no column 'name'"),
        (rows((None, row(1, None)), lacking="name"), "lacks column 'name'"),
        (rows((None, row("1"))), "holds str in column 'id'"),
        (rows((None, row(None))), "no value in the app's @PrimaryKey"),
        (rows((row(None), None)), "no value in the app's @PrimaryKey"),
        (rows((None, row(2**31))), "2147483648, which is no int"),
    ],
)
def test_what_cannot_be_told_is_an_error(told: Told, why: str) -> None:
    """Left out it would be a row that is never so."""
    with pytest.raises(UnreadableError, match=why) as refused:
        assembled(told)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "effect"),
    [
        ("BEGIN", Effect.NOTHING),
        ("COMMIT /* x */", Effect.COMMITTED),
        ("ROLLBACK", Effect.UNDONE),
        ("ROLLBACK WORK TO SAVEPOINT customers", Effect.DOUBTFUL),
        ("XA START X'78',X'',1", Effect.NOTHING),
        ("XA ROLLBACK X'78',X'',1", Effect.UNDONE),
        ("/* hi */ truncate /*x*/ table `customers`", Effect.EMPTIED),
        ("TRUNCATE `shop` . CUSTOMERS WAIT 3", Effect.EMPTIED),
        ("TRUNCATE other.customers", Effect.NOTHING),
        ("TRUNCATE customers_2", Effect.NOTHING),
        ("TRUNCATE t -- customers", Effect.NOTHING),
        ("ALTER TABLE customers ADD COLUMN `DROP` int DEFAULT 1 COMMENT 'CHANGE'", Effect.NOTHING),
        ("ALTER TABLE shop.customers ADD INDEX i (name)", Effect.NOTHING),
        ("ALTER TABLE customers MODIFY name text", Effect.REMADE),
        ("ALTER ONLINE TABLE customers DROP COLUMN name", Effect.REMADE),
        ("ALTER TABLE customers TRUNCATE PARTITION p", Effect.REMADE),
        ("ALTER TABLE orders DROP COLUMN customers", Effect.REMADE),
        ("CREATE OR REPLACE TABLE other.customers (id int)", Effect.NOTHING),
        ("RENAME TABLE other.customers TO shop.`customers`", Effect.REMADE),
        ("SET STATEMENT lock_wait_timeout=1 FOR DROP TABLE customers", Effect.REMADE),
        ("RENAME TABLE customers TO old, _new TO customers", Effect.REMADE),
        ("DROP TABLE IF EXISTS `a`,`customers` /* generated by server */", Effect.REMADE),
        ("CREATE OR REPLACE TABLE customers (id int)", Effect.REMADE),
        ("DROP /*!40005 TEMPORARY */ TABLE IF EXISTS `customers`", Effect.NOTHING),
        ("CREATE DEFINER=`a`@`b` TRIGGER x AFTER INSERT ON customers FOR EACH ROW SET @a=1",
         Effect.NOTHING),
        ("CREATE INDEX i ON customers (name)", Effect.NOTHING),
        ("GRANT SELECT ON customers TO a", Effect.NOTHING),
        ("DROP DATABASE shop", Effect.REMADE),
        ("DROP DATABASE shop2", Effect.NOTHING),
        ("INSERT INTO customers VALUES (1)", Effect.REMADE),
        ("INSERT INTO orders VALUES ('customers')", Effect.NOTHING),
        ("WITH x AS (SELECT 1) DELETE FROM customers", Effect.REMADE),
        ("", Effect.NOTHING),
    ],
)  # fmt: skip
def test_statements_do_what_they_say(text: str, effect: Effect) -> None:
    """Whatever stands in comments and in texts."""
    assert effect_of(text, "shop", ("shop", "customers")) is effect


@pytest.mark.parametrize(
    ("type_", "wanted", "told", "value"),
    [
        ("tinyint(1)", AttributeType.BOOL, 2, True),
        ("bit(9)", AttributeType.BOOL, "000000000", False),
        ("bigint(20) unsigned", AttributeType.LONG, 2**63 - 1, 2**63 - 1),
        ("bigint unsigned", AttributeType.STRING, 2**64 - 1, "18446744073709551615"),
        ("year(4)", AttributeType.INT, 1900, 0),
        ("year(4)", AttributeType.STRING, 1900, "0000"),
        ("float", AttributeType.FLOAT, 0.10000000149011612, 0.10000000149011612),
        ("decimal(6,6)", AttributeType.DOUBLE, Decimal("-.5"), -0.5),
        ("decimal(9,7)", AttributeType.STRING, Decimal("0.0000000"), "0.0000000"),
        ("binary(4)", AttributeType.STRING, b"a", "61000000"),
        ("varbinary(4)", AttributeType.STRING, b"a\0", "6100"),
        ("blob", AttributeType.STRING, b"", ""),
        ("date", AttributeType.STRING, date(987, 1, 2), "0987-01-02"),
        (
            "datetime",
            AttributeType.STRING,
            datetime.fromisoformat("2020-01-02T03:00"),
            "2020-01-02 03:00:00",
        ),
        (
            "datetime(3)",
            AttributeType.STRING,
            datetime.fromisoformat("2020-01-02T03:00"),
            "2020-01-02 03:00:00.000",
        ),
        ("timestamp(1)", AttributeType.STRING, datetime.fromisoformat("1970-01-01"), None),
        ("enum('a','b')", AttributeType.STRING, "", ""),
    ],
)
def test_the_log_tells_what_a_query_gives(
    type_: str, wanted: AttributeType, told: Any, value: Any
) -> None:
    """The other half of it is tested at a real server."""
    found = field_of("t", "c", type_, "utf8mb4", wanted).told(told)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("type_", "wanted", "said"),
    [
        ("float", AttributeType.STRING, "declare it as float or double"),
        ("bit(1)", AttributeType.STRING, "declare it as bool"),
        ("int(5) unsigned zerofill", AttributeType.STRING, "declare it as int or long or double"),
        ("json", AttributeType.STRING, "mode='lookup'"),
        ("time", AttributeType.STRING, "mode='lookup'"),
        ("set('a')", AttributeType.STRING, "mode='lookup'"),
        ("datetime /* mariadb-5.3 */", AttributeType.STRING, "mode='lookup'"),
        ("bigint(20)", AttributeType.INT, "declare it as long or string"),
        ("bigint(20)", AttributeType.DOUBLE, "declare it as long or string"),
        ("varchar(9)", AttributeType.LONG, "declare it as string"),
    ],
)
def test_what_would_not_be_the_same_is_refused(
    type_: str, wanted: AttributeType, said: str
) -> None:
    """With what to do."""
    with pytest.raises(DatabaseError, match="in a copy") as refused:
        field_of("t", "c", type_, None, wanted)
    assert said in str(refused.value.hint)


@pytest.mark.parametrize(
    ("type_", "charset"), [("char(3)", "utf16"), ("text", "cp1251"), ("enum('é')", "latin1")]
)
def test_some_character_sets_are_refused(type_: str, charset: str) -> None:
    """Their bytes would become another text here."""
    with pytest.raises(DatabaseError, match=charset) as refused:
        field_of("t", "c", type_, charset, AttributeType.STRING)
    assert "utf8mb4" in str(refused.value.hint)


def test_a_value_of_another_type_is_of_another_table() -> None:
    """As the column was before it was altered."""
    with pytest.raises(UnlikeError, match="int"):
        field_of("t", "c", "varchar(9)", "utf8mb4", AttributeType.STRING).told(5)


def test_a_reader_keeps_its_server_id() -> None:
    """And two of different names have different ones."""
    assert own_server_id("a") == own_server_id("a") != own_server_id("b")
    assert 1 <= own_server_id("a") < 2**32
