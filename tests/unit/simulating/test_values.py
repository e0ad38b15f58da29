"""CSV: columns by order or by name, and times."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("hall,warm,1,true", "line 1: celsius: 'warm' is no double"),
        ("room,celsius,n,on\nhall,1,1,yes", "line 2: on: 'yes' is no bool"),
        ("hall,1", "line 1: 2 values, expected 4"),
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
    ],
)
def test_missing_and_wrong_times_are_told(written: str, says: str) -> None:
    """With what would be right."""
    with pytest.raises(SimulationError) as told:
        csv_table(written, FEW, max_rows=9, time_column="when")
    assert str(told.value).startswith(says)
    assert told.value.hint
