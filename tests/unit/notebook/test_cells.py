"""`%%siddhi` in a real IPython shell: rows, errors, events from files and variables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pa_parquet
import pytest
from IPython.core.interactiveshell import InteractiveShell

from lockstep.notebook.errors import CellError
from lockstep.notebook.magics import _encoded
from tests.unit.notebook.conftest import Run

APP = """
define stream Reading (room string, celsius double, n int);

@info(name='hot')
from Reading[celsius > 30.0] select room, celsius insert into HotRoom;

from Reading#window.timeBatch(1 min) select count() as readings insert into Minutes;
"""
ROWS = [
    {"room": "attic", "celsius": 31.5, "n": 1},
    {"room": "<b>&hall", "celsius": 32, "n": None},
    {"room": "cellar", "celsius": 12.0, "n": 3},
]

ONE = "define stream Reading (celsius double);\nfrom Reading select celsius insert into Out;"


def test_a_cell_shows_its_rows_as_text_and_as_html(run: Run, shell: InteractiveShell) -> None:
    """Values are escaped; streams without rows and inputs are told in a line."""
    shell.user_ns["rows"] = ROWS
    cell = run(f"%%siddhi --events rows\n{APP}")
    assert cell.error is None, cell.printed
    assert cell.text == (
        "HotRoom: 2 rows\n"
        "  time  room      celsius\n"
        "  ----  --------  -------\n"
        "  0 ms  attic     31.5\n"
        "  0 ms  <b>&hall  32.0\n"
        "\n"
        "Minutes: no rows\n"
        "events: 3 into Reading; the clock is at 0 ms"
    )
    assert "&lt;b&gt;&amp;hall" in cell.html
    assert "<b>&" not in cell.html
    assert cell.html.count("<tr>") == 3


def test_time_passes_when_it_is_told_to(run: Run, shell: InteractiveShell) -> None:
    """From a start of its own, to the end of a window."""
    shell.user_ns["rows"] = ROWS
    cell = run(f"%%siddhi -e rows --at 2026-03-01T08:00:00 --advance 1m --into found\n{APP}")
    assert "Minutes: 1 row\n" in cell.text
    assert "2026-03-01 08:00:00.000  3" in cell.text
    tables: dict[str, pa.Table] = shell.user_ns["found"]
    assert set(tables) == {"Reading", "HotRoom", "Minutes"}
    assert tables["HotRoom"].schema.field("celsius").type == pa.float64()
    assert tables["HotRoom"]["room"].to_pylist() == ["attic", "<b>&hall"]
    assert tables["Minutes"]["_timestamp"][0].as_py().isoformat() == "2026-03-01T08:00:00+00:00"
    assert "the clock is at 2026-03-01 08:01:00.000" in cell.text


@pytest.mark.parametrize(
    "made",
    [
        lambda rows: rows,
        pd.DataFrame,
        pa.Table.from_pylist,
        lambda rows: pa.RecordBatch.from_pylist(rows),
        lambda rows: [list(one.values()) for one in rows],
        lambda rows: [tuple(one.values()) for one in rows],
    ],
)
def test_events_come_from_a_variable(run: Run, shell: InteractiveShell, made: Any) -> None:
    """Of any of these kinds; a missing number stays null."""
    shell.user_ns["given"] = made(ROWS)
    cell = run(f"%%siddhi --events given --into found --frames\n{APP}")
    assert cell.error is None, cell.printed
    reading = shell.user_ns["found"]["Reading"]
    assert isinstance(reading, pd.DataFrame)
    assert list(reading["celsius"]) == [31.5, 32.0, 12.0]
    assert [pd.isna(one) for one in reading["n"]] == [False, True, False]


def test_events_come_from_a_file_at_their_times(run: Run, tmp_path: Path) -> None:
    """The clock goes along, so windows close between them."""
    (tmp_path / "day.csv").write_text(
        "at,room,celsius,n\n90000,hall,31,2\n1000,attic,40,1\n150000,hall,1,3\n"
    )
    cell = run(f"%%siddhi --events day.csv --time-column at\n{APP}")
    assert "1000 ms   attic  40.0\n  90000 ms  hall   31.0" in cell.text
    assert "Minutes: 2 rows" in cell.text
    table = pa.Table.from_pylist([{**one, "_timestamp": 7} for one in ROWS])
    pa_parquet.write_table(table, tmp_path / "day.parquet")
    cell = run(f"%%siddhi --events day.parquet\n{APP}")
    assert "7 ms  attic" in cell.text


def test_mistakes_in_a_text_come_with_place_and_hint_and_no_traceback(run: Run) -> None:
    """All of them at once; a run of all cells would stop here."""
    cell = run("%%siddhi\ndefine stream S (a int);\nfrom S[b > 1] select a insert into T;\n"
               "from S select c insert into U;\n")  # fmt: skip
    assert isinstance(cell.error, CellError)
    assert "line 2:8: 'b' is not an attribute" in cell.printed
    assert "    from S[b > 1] select a insert into T;\n           ^" in cell.printed
    assert "line 3:" in cell.printed
    assert "hint: " in cell.printed
    assert "Traceback" not in cell.printed
    assert ".py" not in cell.printed


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--events nowhere.csv", "events: nowhere.csv cannot be read: No such file or directory"),
        ("--events number", "events: a int holds none"),
        ("--events short", "events: number 1 has no celsius, n"),
        ("--events odd", "events: celsius: 'warm' is no double"),
        ("--events rows --stream Rooms", "the app takes no events in 'Rooms'"),
        ("--events rows --time-column at", "events: number 1 has no at"),
        ("--advance soon", "--advance: 'soon' is no duration"),
        ("--at soon", "--at: 'soon' is no time"),
        ("--into a-b", "--into a-b is no name of a variable"),
    ],
)
def test_a_wrong_option_says_what_is_expected(
    run: Run, shell: InteractiveShell, line: str, says: str
) -> None:
    """Without a traceback, too."""
    shell.user_ns |= {
        "number": 7, "rows": ROWS, "short": [{"room": "a"}],
        "odd": [{"room": "a", "celsius": "warm", "n": 1}],
    }  # fmt: skip
    cell = run(f"%%siddhi {line}\n{APP}")
    assert isinstance(cell.error, CellError)
    assert cell.printed.startswith(says)
    assert "Traceback" not in cell.printed


def test_many_rows_are_cut_and_dropped_events_are_told(run: Run, shell: InteractiveShell) -> None:
    """What is not shown is counted."""
    app = "define stream S (a string); from S select math:parseDouble(a) as a insert into T;"
    shell.user_ns["given"] = [["1"], ["2"], ["warm"]]
    cell = run(f"%%siddhi --events given --rows 1\n{app}")
    assert "T: 2 rows, the first 1" in cell.text
    assert "an event was dropped: " in cell.text
    assert cell.text.count("\n  0 ms") == 1


@pytest.mark.parametrize(
    "head",
    [
        "{0},{1}", '"{0}","{1}"', "\ufeff{1},{0}", '\ufeff"{0}","{1}"', "\n{0},{1}",
        '\n\n"{0}", {1} ', "\ufeff\n{0},_TIMESTAMP", "Celsius,_Timestamp",
    ],
)  # fmt: skip
def test_a_file_says_its_times_however_its_head_is_written(
    run: Run, tmp_path: Path, head: str
) -> None:
    """As Excel and pandas write it."""
    names = head.format("celsius", "_timestamp")
    values = "7000,31" if names.strip('\ufeff"').startswith("_") else "31,7000"
    (tmp_path / "day.csv").write_text(f"{names}\n{values}\n")
    cell = run(f"%%siddhi --events day.csv\n{ONE}")
    assert "7000 ms  31.0" in cell.text, cell


@pytest.mark.parametrize("before", ["", "celsius,_timestamp\n"])
def test_a_value_that_is_too_long_is_told(run: Run, tmp_path: Path, before: str) -> None:
    """In the first line of a file, too: there it was a traceback that named no file."""
    (tmp_path / "day.csv").write_text(f'{before}"{"x" * 200_000}",7000\n')
    cell = run(f"%%siddhi --events day.csv\n{ONE}")
    assert isinstance(cell.error, CellError)
    assert "events: CSV, line " in cell.printed
    assert "Traceback" not in cell.text + cell.printed


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"celsius": 1.0, "_timestamp": float("nan")}, "is no time"),
        ({"celsius": 1.0, "n": 2**40}, "does not fit into an int"),
        ({"celsius": 1.0, "room": "\ud800"}, "half a character"),
    ],
)
def test_what_no_event_can_hold_is_told(
    run: Run, shell: InteractiveShell, row: dict[str, Any], says: str
) -> None:
    """Without a traceback."""
    shell.user_ns["rows"] = [row]
    kinds = {"celsius": "double", "n": "int", "room": "string"}
    names = [name for name in row if name in kinds]
    define = f"define stream Reading ({', '.join(f'{name} {kinds[name]}' for name in names)});"
    app = f"{define}\nfrom Reading select {', '.join(names)} insert into Out;"
    cell = run(f"%%siddhi --events rows --into found\n{app}")
    assert says in cell.text + cell.printed
    assert "Traceback" not in cell.text + cell.printed


def test_a_clock_behind_the_year_9999_is_shown_in_milliseconds(
    run: Run, shell: InteractiveShell
) -> None:
    """As times in microseconds are, which somebody took for milliseconds."""
    shell.user_ns["rows"] = [{"celsius": 1.0, "_timestamp": 1_772_359_140_000_000}]
    assert "1772359140000000 ms" in run(f"%%siddhi --events rows\n{ONE}").text


def test_gaps_of_a_frame_are_null_in_what_is_sent() -> None:
    """JSON has no NaN; times are milliseconds."""
    frame = pd.DataFrame({"v": [1.0, None], "at": pd.to_datetime(["1970-01-01 00:00:01", None])})
    assert json.loads(_encoded(frame)) == [{"v": 1.0, "at": 1000}, {"v": None, "at": None}]


def test_a_number_of_a_file_that_no_event_can_hold_is_told(run: Run, tmp_path: Path) -> None:
    """As one of a variable."""
    (tmp_path / "day.csv").write_text("n\n1099511627776\n")
    app = "define stream Reading (n int);\nfrom Reading select n insert into Out;"
    cell = run(f"%%siddhi --events day.csv --into found\n{app}")
    assert "does not fit into an int" in cell.text + cell.printed
    assert "Traceback" not in cell.text + cell.printed
