"""What a replay reads out of a file, and what its batches are called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockstep.cli.replay import ReplayFile, ReplayFileError

COLUMNS = [("phone", "string"), ("zip", "string"), ("n", "long"), ("x", "double")]
TEXT = "phone,zip,n,x,at\n+49891,01234,9007199254740993,1,2\n2013-01-01T05:15:00,,,,1\n"


def _rows(path: Path, time_column: str | None = None, columns: Any = COLUMNS) -> list[Any]:
    source = ReplayFile.open(path, time_column, columns)
    return [row for _, _, rows in source.batches(1) for row in rows]


def _written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_csv_is_read_with_the_types_of_the_stream(tmp_path: Path) -> None:
    """Text keeps its zeros, its sign and its form; other columns are read as they look."""
    first, second = _rows(_written(tmp_path, "f.csv", TEXT))
    assert first == {"phone": "+49891", "zip": "01234", "n": 2**53 + 1, "x": 1.0, "at": 2}
    assert (second["phone"], second["n"]) == ("2013-01-01T05:15:00", None)


@pytest.mark.parametrize("name", ["f.csv", "f.ndjson"])
def test_a_row_may_be_long_and_have_lines(tmp_path: Path, name: str) -> None:
    """Longer than what Arrow reads at once by default; and a value of a CSV has lines anywhere."""
    long = "one\n" * 600_000
    quoted = json.dumps(long) if name.endswith("json") else f'"{long}"'
    text = (
        f'{{"phone": {quoted}}}\n{{"phone": "b"}}\n' if "json" in name else f"phone\n{quoted}\nb\n"
    )
    assert _rows(_written(tmp_path, name, text)) == [{"phone": long}, {"phone": "b"}]


def test_text_of_ndjson_is_no_time(tmp_path: Path) -> None:
    """Whatever it looks like; attributes that the file does not have are not made up."""
    path = _written(tmp_path, "f.ndjson", '{"phone": "2013-01-01T05:15:00", "n": 1}\n')
    assert _rows(path) == [{"phone": "2013-01-01T05:15:00", "n": 1}]


@pytest.mark.parametrize(
    "times",
    [
        ("2013-01-01T00:00:02Z", "2013-01-01T00:00:01.5Z"),
        ("2013-01-01 00:00:02", "2013-01-01 00:00:01.5"),
        ("1356998402000", "1356998401500"),
    ],
)
def test_text_of_the_stream_may_be_the_time(tmp_path: Path, times: tuple[str, str]) -> None:
    """Rows are ordered by what it says, and carry it as it is."""
    path = _written(tmp_path, "f.csv", "at\n" + "\n".join(times))
    late, early = times
    assert _rows(path, "at", [("at", "string")]) == [
        {"at": early, "_timestamp": 1_356_998_401_500},
        {"at": late, "_timestamp": 1_356_998_402_000},
    ]


@pytest.mark.parametrize("name", ["f.csv", "f.ndjson"])
def test_a_whole_number_may_be_written_with_a_point(tmp_path: Path, name: str) -> None:
    """As tables with gaps are; and the time may stand in a double."""
    rows = [{"n": 2.0, "x": 2_000}, {"n": None, "x": 1_000}]
    if name == "f.csv":
        content = "n,x\n2.0,2000\n,1000\n"
    else:
        content = "".join(json.dumps(row) + "\n" for row in rows)
    found = _rows(_written(tmp_path, name, content), "x")
    assert [(row["n"], row["_timestamp"]) for row in found] == [(None, 1_000), (2.0, 2_000)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.csv", "x,n,at\na,9007199254740993,3000.0\nb,1.0,1000\nc,,2000.0\nd,1e3,4e3\ne,1.5,5e3"),
        (
            "f.ndjson",
            '{"x": "a", "n": 9007199254740993, "at": 3000.0}\n{"x": "b", "n": 1.0, "at": 1000}\n'
            '\n{"x": "c", "at": 2e3} {"x": "d",\n"n": 1e3, "at": 4e3}\n'
            '{"n": 1.5, "at": 5000, "x": "e"}\n',
        ),
    ],
)
def test_long_numbers_are_not_rounded(tmp_path: Path, name: str, content: str) -> None:
    """Because another one has a point; a time may have one, too."""
    columns = [("x", "string"), ("n", "long"), ("at", "long")]
    path = _written(tmp_path, name, content)
    found = [
        (row["x"], row["n"], row["at"], row["_timestamp"]) for row in _rows(path, "at", columns)
    ]
    assert found == [
        ("b", 1, 1_000, 1_000), ("c", None, 2_000, 2_000), ("a", 2**53 + 1, 3_000, 3_000),
        ("d", 1_000, 4_000, 4_000), ("e", 1.5, 5_000, 5_000),
    ]  # fmt: skip


def test_long_numbers_with_a_point_are_not_rounded(tmp_path: Path) -> None:
    """In NDJSON no more than in a CSV."""
    for name, text in (
        ("f.csv", "n\n9007199254740993.0\n1.5\n"),
        ("f.ndjson", '{"n": 9007199254740993.0}\n{"n": 1.5}\n'),
    ):
        assert [row["n"] for row in _rows(_written(tmp_path, name, text))] == [2**53 + 1, 1.5]


@pytest.mark.parametrize(
    ("kind", "values", "read"),
    [
        ("long", "9007199254740993 1.0 - 1e3", [2**53 + 1, 1, "-", 1_000.0]),
        ("double", "1.5 +5 .5 x NaN", [1.5, 5, 0.5, "x", None]),
        ("double", "1 inf 1_0 ١ 2;3", [1, "inf", "1_0", "١", "2;3"]),
        ("long", "inf 1.5 2", ["inf", 1.5, 2]),
        ("int", "0 1 true", [0, 1, "true"]),
        ("float", "2013-01-01 2013-01-02", ["2013-01-01", "2013-01-02"]),
        ("string", "1 -", ["1", "-"]),
    ],
)
def test_an_odd_value_leaves_the_numbers_of_its_column_what_they_are(
    tmp_path: Path, kind: str, values: str, read: list[Any]
) -> None:
    """It alone is text, which the receiver refuses; a gap stays a gap."""
    path = _written(tmp_path, "f.csv", "v,w\n" + "".join(f"{v},1\n" for v in values.split()))
    found = [row["v"] for row in _rows(path, columns=[("v", kind)])]
    assert (found, list(map(type, found))) == (read, list(map(type, read)))


def test_text_of_ndjson_is_no_number(tmp_path: Path) -> None:
    """Whatever it looks like: there it was written as text."""
    path = _written(tmp_path, "f.ndjson", '{"n": "5"}\n')
    assert _rows(path) == [{"n": "5"}]


@pytest.mark.parametrize("time", ["2000.5", "1e30"])
def test_a_time_is_a_whole_number(tmp_path: Path, time: str) -> None:
    """Of milliseconds."""
    with pytest.raises(ReplayFileError, match="neither epoch milliseconds nor a timestamp"):
        _rows(_written(tmp_path, "f.csv", f"n,x\n1,{time}\n"), "x")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("f.csv", "phone\nM\xfcnchen\n"),
        ("f.csv", "other\nM\xfcnchen\n"),
        ("f.csv", "M\xfcnchen\n1\n"),
        ("f.ndjson", '{"phone": "M\xfcnchen"}\n'),
        ("f.ndjson", '{"phone": 12}\n'),
        ("f.txt", "x"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: str) -> None:
    """Before anything is sent: no UTF-8, no value of the type, no known format."""
    with pytest.raises(ReplayFileError, match=name):
        ReplayFile.open(_written(tmp_path, name, content.encode("latin-1")), None, COLUMNS)


def test_a_column_that_says_no_times_is_refused(tmp_path: Path) -> None:
    """With what it should say."""
    with pytest.raises(ReplayFileError, match="neither epoch milliseconds nor a timestamp"):
        ReplayFile.open(_written(tmp_path, "f.csv", "zip\nx\n"), "zip", COLUMNS)


def test_a_batch_is_named_by_all_that_says_what_is_in_it(tmp_path: Path) -> None:
    """The same again has the same name, everything else another one."""
    path = _written(tmp_path, "f.csv", TEXT)
    source, by_time = ReplayFile.open(path, None), ReplayFile.open(path, "at")
    keys = [
        source.key("A", 10, 0), source.key("B", 10, 0), source.key("A", 5, 0),
        source.key("A", 10, 10), by_time.key("A", 10, 0),
    ]  # fmt: skip
    assert len(set(keys)) == len(keys)
    assert ReplayFile.open(path, None).key("A", 10, 0) == keys[0]
    assert max(map(len, keys)) <= 200
