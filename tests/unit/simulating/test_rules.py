"""How values are drawn: by range, choice, pattern, sequence and constant."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from lockstep.clock import SeededRandomness
from lockstep.simulating import SimulationError, drawn, rule_of
from lockstep.simulating.patterns import MAX_TEXT_CHARACTERS, pattern_of

COLUMNS = [("room", "string"), ("celsius", "double"), ("n", "long"), ("on", "bool")]
EXPRESSIONS = (
    "[A-Z]{2}-[0-9]{4}", "(attic|hall)(-north)?", r"\w+@[a-z]{2,5}\.(com|org)", "a*b+c?",
    "[^a-z]{3}", r"x{2,}\d", "(?:ab){2}|cd", r"\(\)\[\]", "^[a-f0-9]{8}$", ".{5}", r"[\d.-]+", "",
)  # fmt: skip


def values(rule: Any, kind: str, count: int = 200) -> list[Any]:
    """Of one attribute."""
    return [one for (one,) in drawn([rule], [("it", kind)], count, SeededRandomness(11))]


def test_random_rows_follow_their_rules() -> None:
    """A range, a choice, a pattern; the same seed draws the same."""
    rules = ["room-[1-3]\\d", "20..30", "5..9", "true|false"]
    rows = drawn(rules, COLUMNS, 50, SeededRandomness(7))
    assert rows == drawn(rules, COLUMNS, 50, SeededRandomness(7))
    assert rows != drawn(rules, COLUMNS, 50, SeededRandomness(8))
    for room, celsius, number, is_on in rows:
        assert re.fullmatch(r"room-[1-3]\d", room)
        assert 20 <= celsius <= 30
        assert number in range(5, 10)
        assert is_on in (True, False)


def test_the_ends_of_a_whole_range_come_as_often_as_the_middle() -> None:
    """Rounding would halve them."""
    seen = Counter(values("1..3", "int", 3_000))
    assert set(seen) == {1, 2, 3}
    assert min(seen.values()) > 800


@pytest.mark.parametrize(
    ("rule", "low", "high"),
    [
        ("0.0001..0.0002", 0.0001, 0.0002),
        ("0.12344..0.12351", 0.12344, 0.12351),
        ("52.5200..52.5201", 52.52, 52.5201),
        ("-1.5..-1.4", -1.5, -1.4),
    ],
)
def test_a_range_keeps_its_ends_however_many_places_they_have(
    rule: str, low: float, high: float
) -> None:
    """No value is beyond them, and both can come."""
    found = set(values(rule, "double", 2_000))
    assert (min(found), max(found)) == (low, high)


def test_a_class_that_is_repeated_is_drawn_as_one_after_the_other() -> None:
    """The same seed draws the same."""
    each = pattern_of("[a-z]" * 50, plain=False).draw(SeededRandomness(4))
    assert pattern_of("([a-z]){50}", plain=False).draw(_Skipping(4)) == each


class _Skipping(SeededRandomness):
    """Without its first draw, which says how many there are."""

    _begun = False

    def fraction(self) -> float:
        if self._begun:
            return super().fraction()
        self._begun = True
        return 0.0


def test_sequences_constants_and_values_of_json() -> None:
    """Numbers in a file are themselves, lists are choices, `=` makes a constant of any text."""
    assert values("1++", "long", 3) == [1, 2, 3]
    assert values("10++-5", "int", 3) == [10, 5, 0]
    assert values("0.5++0.1", "double", 4) == [0.5, 0.6, 0.7, 0.8]
    assert values("7++", "string", 2) == ["7", "8"]
    assert values("=a|b", "string", 2) == ["a|b", "a|b"]
    assert values(5, "int", 2) == [5, 5]
    assert values(None, "string", 1) == [None]
    assert set(values([1, 2, None], "int")) == {1, 2, None}
    assert set(values("attic | hall", "string")) == {"attic", "hall"}


@pytest.mark.parametrize("written", EXPRESSIONS)
def test_a_drawn_text_matches_its_expression(written: str) -> None:
    """As Python's own engine reads it; the longest that was promised is never passed."""
    pattern = pattern_of(written, plain=False)
    randomness = SeededRandomness(3)
    found = {pattern.draw(randomness) for _ in range(300)}
    for one in found:
        assert re.fullmatch(written, one), one
        assert len(one) <= pattern.longest
    assert len(found) > 1 or written in (r"\(\)\[\]", "")


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("(ab", "a group is not closed"),
        ("ab)", "')' closes nothing"),
        ("*a", "nothing to repeat"),
        (r"\bword", "is not known here"),
        ("a{4,2}", "is no number of times"),
        ("a{x}", "a number of times is"),
        ("a{²}", "a number of times is"),
        ("a{" + "9" * 5_000 + "}", "a number of times is"),
        ("[z-a]", "z-a is no range"),
        ("(?=a)", "there is (?:…) alone"),
        ("[^ -~]", "leaves no character"),
        ("((a{99}){99}){99}", f"more than {MAX_TEXT_CHARACTERS} characters"),
        ("(" * 40 + ")" * 40, "within one another"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_its_place(written: str, says: str) -> None:
    """Nothing is drawn that could fill the memory."""
    with pytest.raises(SimulationError, match=r"character \d+: ") as told:
        pattern_of(written, plain=False)
    assert says in told.value.message


def test_empty_repetitions_cost_nothing() -> None:
    """What has no characters is not repeated."""
    pattern = pattern_of("(^{4000}){4000}", plain=False)
    assert pattern.draw(SeededRandomness(1)) == ""


@pytest.mark.parametrize(
    ("rule", "kind", "says"),
    [
        ("warm", "double", "celsius: 'warm' is no double"),
        ("1.5..3", "int", "celsius: 1.5..3 has fractions, it is int"),
        ("9..1", "int", "celsius: 9 is more than 1 (hint: 1..9)"),
        ("1++", "bool", "celsius: 1++1 gives numbers, it is bool"),
        ("1..2", "bool", "celsius: 1..2 gives numbers, it is bool"),
        ("/[a/", "string", "celsius: pattern '[a', character 3: a class is not closed"),
        (f"1..{'9' * 5_000}", "long", "celsius: a number of more than 30 digits"),
        (f"-{'9' * 400}..1", "string", "celsius: a number of more than 30 digits"),
        (f"1++{'9' * 5_000}", "long", "celsius: a number of more than 30 digits"),
        (f"1..{'9' * 400}", "double", "celsius: 'inf' is no double"),
        (
            "9007199254740993..9007199254740992",
            "long",
            "celsius: 9007199254740993 is more than"
            " 9007199254740992 (hint: 9007199254740992..9007199254740993)",
        ),
        ([], "int", "celsius: a choice of nothing"),
        ("=inf", "double", "celsius: 'inf' is no double"),
    ],
)
def test_a_rule_that_gives_no_such_value_says_so(rule: Any, kind: str, says: str) -> None:
    """With the attribute's name."""
    with pytest.raises(SimulationError) as told:
        rule_of(rule, "celsius", kind)(0, SeededRandomness(1))
    assert str(told.value) == says
