"""Order and hash of Java's strings."""

from __future__ import annotations

import pytest

from lockstep.functions.java_text import compare, equals_ignore_case, hash_code


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("a", 97), ("hello", 99162322), ("polygenelubricants", -2147483648)],
)
def test_hash_code(text: str, expected: int) -> None:
    """31 * h + unit, wrapped to 32 bits."""
    assert hash_code(text) == expected


def test_hash_code_counts_utf_16_units() -> None:
    """A character beyond the first plane is two units."""
    assert hash_code("😀") == 31 * 0xD83D + 0xDE00


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("a", "b", -1), ("abc", "ab", 1), ("", "", 0), ("\ufb01", "😀", 0xFB01 - 0xD83D)],
)
def test_compare(left: str, right: str, expected: int) -> None:
    """By UTF-16 units: a character beyond the first plane sorts before U+FB01."""
    assert compare(left, right) == expected
    assert compare(right, left) == -expected


def test_equality_without_case() -> None:
    """Character by character, so that the lengths must be equal."""
    assert equals_ignore_case("ÄbC", "äBc")
    assert not equals_ignore_case("ß", "SS")
