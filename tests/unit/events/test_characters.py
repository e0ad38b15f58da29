"""Half characters are found and replaced, in texts and in what holds texts."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.events import OutputId, OutputRecord, OutputRow
from lockstep.events.characters import is_whole, whole
from lockstep.events.codec import decode_output, encode_record

HALF = "a\ud83d"


@pytest.mark.parametrize(
    ("value", "replaced"),
    [
        (HALF, "a\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
        ([1, [HALF], None], [1, ["a\ufffd"], None]),
        ({HALF: {"b": (HALF,)}}, {"a\ufffd": {"b": ("a\ufffd",)}}),
        ({HALF}, {"a\ufffd"}),
    ],
)
def test_halves_are_replaced(value: Any, replaced: Any) -> None:
    """Those that belong together become one character."""
    assert not is_whole(value)
    assert whole(value) == replaced
    assert is_whole(replaced)


@pytest.mark.parametrize("value", ["", "abc", "ä\U0001f600", 5, None, [1, "ä"], {"a": {"b": []}}])
def test_what_is_whole_is_left_alone(value: Any) -> None:
    """The very same value."""
    assert is_whole(value)
    assert whole(value) is value


def test_what_holds_itself_ends() -> None:
    """An app's author can make such a list."""
    circle: list[Any] = [1]
    circle.append(circle)
    assert is_whole(circle)


@pytest.mark.parametrize("value", [HALF, [HALF]])
def test_a_row_with_a_half_is_written(value: Any) -> None:
    """What an installed function gave stops no app: replicas hold it, but no log can."""
    row = OutputRow(OutputId(1, 0), "Out", 5, (7, value))
    found = decode_output(encode_record(OutputRecord(1, (row,))))
    assert isinstance(found, OutputRecord)
    assert [each.data for each in found.rows] == [(7, whole(value))]
