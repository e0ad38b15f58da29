"""What a replay reads out of a file, and what its batches are called."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lockstep.cli.replay_files import ReplayFile, ReplayFileError

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
        ("f.txt", "x"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: str) -> None:
    """Before anything is sent: no UTF-8, no known format."""
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


@pytest.mark.parametrize(
    ("name", "text", "sent", "left_out"),
    [
        ("f.csv", "phone,n\na,1\nb\nc,3\nd,4,5\n", ["a", "c"], [(2, "2 values"), (4, "2 values")]),
        ("f.ndjson", '{"phone":"a"}\n{"phone":}\n{"phone":"c"}\n7\n', ["a", "c"],
         [(2, "no JSON"), (4, "an object")]),
        ("f.ndjson", '{"phone":"a"}\n{"phone":1e400}\n{"phone":NaN}\n', ["a"],
         [(2, "too large"), (3, "no NaN")]),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_left_out_alone(
    tmp_path: Path, name: str, text: str, sent: list[str], left_out: list[tuple[int, str]]
) -> None:
    """It is told with its number; the others keep theirs."""
    source = ReplayFile.open(_written(tmp_path, name, text), None, COLUMNS)
    rows = [row["phone"] for _, _, rows in source.batches(10) for row in rows]
    assert rows == sent
    assert [place for place, _ in source.unreadable] == [place for place, _ in left_out]
    for (_, why), (_, part) in zip(source.unreadable, left_out, strict=True):
        assert part in why
    assert [source.place(at) for at in range(len(sent))] == [1, 3][: len(sent)]


@pytest.mark.parametrize(
    ("name", "text"),
    [("f.csv", "phone,at\na,20\nb,\nc,10\n"),
     ("f.ndjson", '{"phone":"a","at":20}\n{"phone":"b"}\n{"phone":"c","at":10}\n')],
)  # fmt: skip
def test_a_row_without_a_time_is_left_out(tmp_path: Path, name: str, text: str) -> None:
    """When rows are replayed by their time."""
    source = ReplayFile.open(_written(tmp_path, name, text), "at", COLUMNS)
    sent = [(row["phone"], row["_timestamp"]) for _, _, rows in source.batches(1) for row in rows]
    assert sent == [("c", 10), ("a", 20)]
    assert source.unreadable == ((2, "at: there is no time"),)
    assert [source.place(0), source.place(1)] == [3, 1]


def test_objects_are_sent_as_they_are_written(tmp_path: Path) -> None:
    """Whatever others have at that place: texts that look like times, long numbers, lists."""
    objects = [{"when": "2026-03-01T00:00:00Z", "x": 1}, {"y": 2.5}, {"id": 2**53 + 1}, [1, "x"], 7]
    text = "".join(json.dumps({"o": one}) + "\n" for one in objects)
    path = _written(tmp_path, "f.ndjson", text)
    assert [row["o"] for row in _rows(path, columns=[("o", "object")])] == objects


def test_a_list_says_how_to_make_a_file_of_it(tmp_path: Path) -> None:
    """One object after the other."""
    with pytest.raises(ReplayFileError, match="jq -c"):
        ReplayFile.open(_written(tmp_path, "f.json", '[{"phone": "a"}]'), None, COLUMNS)


def test_an_odd_bool_of_a_csv_is_text_alone(tmp_path: Path) -> None:
    """The receiver refuses its row."""
    path = _written(tmp_path, "f.csv", "b\nTrue\nyes\n0\n\n")
    assert [row["b"] for row in _rows(path, columns=[("b", "bool")])] == [True, "yes", False]


def test_parquet_has_gaps_decimals_and_times(tmp_path: Path) -> None:
    """As the notebook and scripts have them."""
    table = pa.table({
        "n": pa.array([1_772_359_140_123_456], pa.timestamp("us")),
        "x": [float("nan")],
        "d": pa.array([Decimal("1.10")], pa.decimal128(10, 2)),
        "phone": pa.array([0], pa.timestamp("ms")),
        "at": pa.array(["2026-03-01T00:00:00Z"]).dictionary_encode(),
    })  # fmt: skip
    pq.write_table(table, tmp_path / "f.parquet")
    (row,) = _rows(tmp_path / "f.parquet", "at")
    assert (row["n"], row["x"], row["d"]) == (1_772_359_140_123, None, 1.1)
    assert str(row["phone"]) == "1970-01-01 00:00:00"
    assert row["_timestamp"] == 1_772_323_200_000


def test_what_stands_in_a_broken_object_is_no_event(tmp_path: Path) -> None:
    """However many lines it has; all of it is one row."""
    text = (
        '{\n "n": NaN,\n "inner":\n  {"n": 7}\n}\n'
        '{"n": 2}\n'
        '{\n "n": 1,,\n "inner":\n  {"n": 8}\n}\n'
        '{"n": 3, "phone": "a\nb"}\nfoo\nbar\n{"n": 4}\n'
    )
    source = ReplayFile.open(_written(tmp_path, "f.ndjson", text), None, COLUMNS)
    assert [row["n"] for _, _, rows in source.batches(9) for row in rows] == [2, 3, 4]
    assert [place for place, _ in source.unreadable] == [1, 3, 5, 6]
    assert [source.place(at) for at in range(3)] == [2, 4, 7]


def test_lines_that_are_no_json_are_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with all that stands in front of them."""
    looked: list[int] = []

    class Counting(json.JSONDecodeError):
        """Counts line ends from the beginning of what it is given."""

        def __init__(self, msg: str, doc: str, pos: int) -> None:
            looked.append(len(doc))
            super().__init__(msg, doc, pos)

    monkeypatch.setattr(json.decoder, "JSONDecodeError", Counting)
    text = "".join(f'INFO started job {n}\n{{"n": {n}}}\n' for n in range(500))
    source = ReplayFile.open(_written(tmp_path, "f.ndjson", text), None, COLUMNS)
    assert (source.rows, len(source.unreadable)) == (500, 500)
    assert len(looked) >= 500
    assert sum(looked) < 5 * len(text)


@pytest.mark.parametrize("time", ["1180591620717411303424", '"\\ud800"', '{"a": 1}'])
def test_a_time_that_nobody_can_hold_is_told(tmp_path: Path, time: str) -> None:
    """Without a traceback."""
    with pytest.raises(ReplayFileError, match="neither epoch milliseconds nor a timestamp"):
        _rows(_written(tmp_path, "f.ndjson", f'{{"n": 1, "at": {time}}}\n'), "at")
