"""Dead letters as bytes."""

from __future__ import annotations

import pytest

from lockstep.bus import DeadLetter
from lockstep.bus.letters import MAX_REASON_CHARS, decode_letter, encode_letter

LIMIT_BYTES = 50_000


def _letter(reason: str, payload: bytes) -> DeadLetter:
    return DeadLetter("App", "S", reason, payload, "application/json", 5, "n1", 3)


def test_a_letter_that_fits_is_kept_as_it_is() -> None:
    """To the last byte that is possible."""
    letter = _letter("no such field", b"x" * 1_000)
    exact = len(encode_letter(letter, LIMIT_BYTES))
    assert decode_letter(encode_letter(letter, exact)) == letter
    assert decode_letter(encode_letter(letter, exact - 1)).left_out_bytes > 0


@pytest.mark.parametrize("over", [1, 100, 600, 1_000_000])
def test_of_one_that_does_not_the_beginning_is_kept(over: int) -> None:
    """As much as there is room for, and it says so."""
    letter = _letter("no such field", b"x" * (LIMIT_BYTES + over))
    encoded = encode_letter(letter, LIMIT_BYTES)
    assert LIMIT_BYTES - 1_000 < len(encoded) <= LIMIT_BYTES
    found = decode_letter(encoded)
    assert found.left_out_bytes == len(letter.payload) - len(found.payload)
    assert found.reason == (
        f"no such field (of its {len(letter.payload)} bytes {found.left_out_bytes} are left out "
        "here: the bus takes no more)"
    )


def test_a_reason_that_is_too_long_is_cut_first() -> None:
    """It may name every field of what was refused. The payload can still be sent again."""
    letter = _letter("no such field, " * LIMIT_BYTES, b"x" * 1_000)
    found = decode_letter(encode_letter(letter, LIMIT_BYTES))
    assert len(found.reason) == MAX_REASON_CHARS
    assert (found.payload, found.left_out_bytes) == (letter.payload, 0)
