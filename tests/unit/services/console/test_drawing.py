"""Events that people write, paste or draw at random; and how a test writes them down."""

from __future__ import annotations

import re

import pytest

from lockstep.clock import SeededRandomness
from lockstep_services.console import drawing

COLUMNS = [("room", "string"), ("celsius", "double"), ("n", "long"), ("on", "bool")]


def test_csv_by_order_or_by_names() -> None:
    """A head line may name the columns in another order; a wrong value says which."""
    plain = drawing.csv_rows('"attic, north",31.5,3,true\n', COLUMNS)
    assert plain == [["attic, north", 31.5, 3, True]]
    assert drawing.csv_rows("n,on,room,celsius\n3,true,hall,\n", COLUMNS) == [
        ["hall", None, 3, True]
    ]
    with pytest.raises(ValueError, match="celsius: 'warm' is no double"):
        drawing.csv_rows("hall,warm,1,true", COLUMNS)
    with pytest.raises(ValueError, match="line 1: 2 values, expected 4"):
        drawing.csv_rows("hall,1", COLUMNS)


def test_random_rows_follow_their_rules() -> None:
    """A range, a choice, a pattern; the same seed draws the same."""
    rules = ["room-[1-3]\\d", "20..30", "5..9", "true|false"]
    rows = drawing.drawn(rules, COLUMNS, 50, SeededRandomness(7))
    assert rows == drawing.drawn(rules, COLUMNS, 50, SeededRandomness(7))
    for room, celsius, number, is_on in rows:
        assert re.fullmatch(r"room-[1-3]\d", room)
        assert 20 <= celsius <= 30
        assert number in range(5, 10)
        assert is_on in (True, False)


def test_words_of_a_test_read_back() -> None:
    """Texts that are no plain words are quoted."""
    words = [
        drawing.word(one) for one in (None, True, 1.5, "attic", "two words", "it's", "null", "")
    ]
    assert words == ["null", "true", "1.5", "attic", "'two words'", '"it\'s"', "'null'", "''"]
