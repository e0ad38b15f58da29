"""What a table of MySQL takes for the same, by what the server says of it."""

from __future__ import annotations

import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from lockstep_services.publisher.mysql.existing import (
    columns_of,
    indexes_of,
    may_clash,
    vague_columns,
)

SCHEMA = StreamSchema(
    "T", (Attribute("Key", AttributeType.STRING), Attribute("v", AttributeType.INT))
)


@pytest.mark.parametrize(
    ("kind", "collation", "mending"),
    [
        ("varchar(9)", "utf8mb4_0900_bin", None),
        ("varchar(9)", "utf8mb4_nopad_bin", None),
        ("varbinary(9)", None, None),
        ("varchar(9)", "utf8mb4_bin", "varchar(9)"),
        ("varchar(9)", "utf8mb4_0900_ai_ci", "varchar(9)"),
        ("varchar(9)", "utf8mb3_general_ci", "varchar(9)"),
        ("char(9)", "utf8mb4_0900_bin", "varchar(9)"),
    ],
)
def test_a_collation_tells_all_texts_apart_or_not(
    kind: str, collation: str | None, mending: str | None
) -> None:
    """With blanks at the end, too, which CHAR cuts off."""
    told = [("key", kind, collation, "NO", "PRI", None, "", "select", "")]
    found = vague_columns(SCHEMA, columns_of(told))
    created = f"CREATE TABLE `t` (\n  `key` {kind} CHARACTER SET utf8mb4 NOT NULL,\n) ENGINE=InnoDB"
    said = [one.mending("utf8mb4_0900_bin", created) for one in found.values()]
    wanted = f"MODIFY `key` {mending} COLLATE utf8mb4_0900_bin NOT NULL"
    assert said == ([wanted] if mending else [])


@pytest.mark.parametrize(
    ("others", "clashes"),
    [
        ([], False),
        ([("more", "key", None), ("more", "n", None)], False),
        ([("more", "n", None)], False),
        ([("more", "v", None)], True),
        ([("more", "v", None), ("more", "key", 3)], True),
        ([("more", None, None)], True),
    ],
)
def test_a_unique_index_may_refuse_a_new_key(
    others: list[tuple[str, str | None, int | None]], clashes: bool
) -> None:
    """Not so one with the whole key in it, nor one of a number that the server counts."""
    told: list[tuple[str | None, ...]] = [
        ("key", "varchar(9)", "utf8mb4_bin", "NO", "UNI", None, "", "", ""),
    ]
    told += [("n", "int(11)", None, "NO", "PRI", None, "auto_increment", "", "")]
    rows = [
        ("t", 0, name, 1, column, "A", 0, length, None, "", "BTREE", "", "")
        for name, column, length in [("PRIMARY", "key", None), *others]
    ]
    assert may_clash(SCHEMA, {"key"}, indexes_of(rows), columns_of(told)) == clashes
