"""CSV: columns by order or by name, and times."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.simulating import SimulationError, csv_rows, csv_table
from lockstep.simulating.values import time_ms

COLUMNS = [("room", "string"), ("celsius", "double"), ("n", "long"), ("on", "bool")]
FEW = [("room", "string"), ("celsius", "double")]


def test_csv_by_order_or_by_names() -> None:
    """A head line may name the columns in another order; a wrong value says which."""
    plain = csv_rows('"attic, north",31.5,3,true\n', COLUMNS, max_rows=9)
    assert plain == [["attic, north", 31.5, 3, True]]
    named = csv_rows("n,on,room,celsius\n3,true,hall,\n", COLUMNS, max_rows=9)
    assert named == [["hall", None, 3, True]]


def test_a_head_is_known_in_whatever_case_it_is_written() -> None:
    """It was sent as an event where all attributes are texts. Names that differ in case alone are
    told apart, and more columns may stand beside them."""
    doors = [("room", "string"), ("door", "string")]
    assert csv_rows("Room,door\nhall,front\n", doors, max_rows=9) == [["hall", "front"]]
    assert csv_rows("DOOR,No,ROOM\nfront,1,hall\n", doors, max_rows=9) == [["hall", "front"]]
    twins = [("a", "string"), ("A", "string")]
    assert csv_rows("A,a\n1,2\n", twins, max_rows=9) == [["2", "1"]]
    assert csv_rows("a,b\n", twins, max_rows=9) == [["a", "b"]]
    timed = csv_table("AT,Room,Door\n5,hall,front\n", doors, max_rows=9, time_column="at")
    assert timed == ([["hall", "front"]], [5])


@pytest.mark.parametrize(
    ("written", "kind", "rows"),
    [
        ("A\nb\n", "string", [["A"], ["b"]]),
        (" A\nb\n", "string", [[" A"], ["b"]]),
        ("\nA\n", "string", [["A"]]),
        ("a\nb\n", "string", [["b"]]),
        ("A\n1\n", "int", [[1]]),
        ("A,n\nb,1\n", "string", [["b"]]),
    ],
)
def test_one_value_in_another_case_is_an_event(written: str, kind: str, rows: Any) -> None:
    """It was left out as if it were a head. It is one where its type cannot hold it, or where
    another column stands beside it."""
    assert csv_rows(written, [("a", kind)], max_rows=9) == rows


def test_a_time_column_makes_the_first_line_a_head() -> None:
    """Without one, nobody knows which column has the times."""
    found = csv_table("AT\n5\n", [("at", "string")], max_rows=9, time_column="at")
    assert found == ([["5"]], [5])


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("hall,warm,1,true", "line 1: celsius: 'warm' is no double"),
        ("room,celsius,n,on\nhall,1,1,yes", "line 2: on: 'yes' is no bool"),
        ("hall,1", "line 1: 2 values, expected 4"),
        ("hall,21,5,1,true", "line 1: 5 values, expected 4"),
        ("room,celsius,n,on\nhall,21,5,1,true", "line 2: 5 values, expected 4"),
        ("room,celsius,n,on,more\nhall,21,5,true", "line 2: 4 values, expected 5"),
        ("room,celsius,n,on\n\n\nhall,x,1,true\n", "line 4: celsius: 'x' is no double"),
        ('room,celsius,n,on\n"a\nb",1,1,true\nhall,x,1,true', "line 4: celsius: 'x' is no double"),
        ('room,celsius,n,on\n\n"a\nb",x,1,true', "line 3: celsius: 'x' is no double"),
        ("a,1,1,true\n" * 10, "CSV: 10 lines: 9 fit"),
    ],
)
def test_a_wrong_csv_names_the_line(written: str, says: str) -> None:
    """As the person counts lines, the head among them."""
    with pytest.raises(SimulationError) as told:
        csv_rows(written, COLUMNS, max_rows=9)
    assert str(told.value) == says


def test_rows_come_in_the_order_of_their_times() -> None:
    """Rows of one time stay as they stood; times are milliseconds or ISO 8601."""
    written = (
        "when,room,celsius\n1970-01-01T00:00:02Z,c,3\n1000,a,1\n1970-01-01T01:00:01+01:00,b,2\n"
    )
    rows, times = csv_table(written, FEW, max_rows=9, time_column="when")
    assert (rows, times) == ([["a", 1.0], ["b", 2.0], ["c", 3.0]], [1000, 1000, 2000])
    assert time_ms("1970-01-01 00:00:00.250", "t") == 250
    assert time_ms(7.0, "t") == 7


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("room,celsius\na,1\n", "CSV: its first line does not name 'when' and all attributes"),
        ("when,room,celsius\nsoon,a,1\n", "line 2: when: 'soon' is no time"),
        ("when,room,celsius\n" + "9" * 20 + ",a,1\n", "line 2: when: '99999999999999999999' is no"),
    ],
)
def test_missing_and_wrong_times_are_told(written: str, says: str) -> None:
    """With what would be right."""
    with pytest.raises(SimulationError) as told:
        csv_table(written, FEW, max_rows=9, time_column="when")
    assert str(told.value).startswith(says)
    assert told.value.hint
