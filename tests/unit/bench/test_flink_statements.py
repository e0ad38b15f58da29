"""How streams become tables of Flink SQL, and rounds files of CSV."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.events import Attribute, AttributeType, StreamSchema
from tests.bench.flink.statements import statements, table_of, write_files
from tests.bench.nexmark.generator import AUCTIONS, BIDS, PEOPLE, rounds

pytestmark = pytest.mark.unit

BID = StreamSchema(
    "Bid",
    (
        Attribute("auction", AttributeType.LONG),
        Attribute("extra", AttributeType.STRING),
        Attribute("dateTime", AttributeType.LONG),
    ),
)
LAST_MS = 1_600_000_000_120


def asked(query: str) -> str:
    """All statements of a query over two streams."""
    return statements(query, [BID, BID.renamed("Auction")], Path("/files"), LAST_MS, {"a.b": "c"})


def test_a_stream_becomes_a_table_of_its_files() -> None:
    """With its types, and where its files are."""
    assert table_of(BID, Path("/files/Bid"), has_time=False, key=None) == (
        "CREATE TABLE Bid (\n  `auction` BIGINT,\n  `extra` STRING,\n  `dateTime` BIGINT\n) WITH ("
        "'connector' = 'filesystem', 'path' = 'file:///files/Bid', 'format' = 'csv')"
    )


def test_settings_and_tables_come_before_the_query() -> None:
    """Each ends with a line, as the driver cuts them."""
    *before, query = asked("SELECT 1\n").removesuffix(";\n").split(";\n")
    assert before[0] == "SET a.b = c"
    assert [text.split(" (")[0] for text in before[1:]] == [
        "CREATE TABLE Bid",
        "CREATE TABLE Auction",
    ]
    assert query == "SELECT 1"


def test_events_have_a_time_only_where_a_query_asks_for_it() -> None:
    """A watermark costs something, and a query without windows needs none."""
    assert "WATERMARK" not in asked("SELECT auction FROM Bid")
    assert "WATERMARK FOR rowtime AS rowtime - INTERVAL '4' SECOND" in asked("DESCRIPTOR(rowtime)")


def test_auctions_have_a_key_only_where_they_are_looked_up() -> None:
    """Bids and people never have one."""
    assert "PRIMARY KEY" not in asked("SELECT rowtime FROM Bid")
    text = asked("JOIN Auction FOR SYSTEM_TIME AS OF b.rowtime")
    assert text.count("PRIMARY KEY (`id`) NOT ENFORCED") == 1


def test_the_last_moment_is_in_utc_with_milliseconds() -> None:
    """It cuts off what only the end of the input closes."""
    text = asked("window_end <= {last}")
    assert "window_end <= TIMESTAMP '2020-09-13 12:26:40.120';" in text


def test_files_share_the_rounds_in_turns(tmp_path: Path) -> None:
    """One file has two of three rounds, the other one has one."""
    schemas = [BID.renamed(name) for name in ("Person", "Auction", "Bid")]
    write_files(list(rounds(3)), schemas, tmp_path, 2)
    lines = {
        (name, number): (tmp_path / name / f"{number}.csv").read_text().splitlines()
        for name in ("Person", "Auction", "Bid")
        for number in (0, 1)
    }
    counts = {"Person": PEOPLE, "Auction": AUCTIONS, "Bid": BIDS}
    assert all(
        len(lines[name, n]) == (2 - n) * count for name, count in counts.items() for n in (0, 1)
    )
    assert '"' not in lines["Bid", 0][0]
    assert len(lines["Bid", 1][0].split(",")) == 7
