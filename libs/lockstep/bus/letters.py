"""Dead letters as bytes: MessagePack of their fields, the original payload untouched as far as it
fits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import msgspec

from lockstep.bus.contract import DeadLetter
from lockstep.bus.errors import ErrorStoreFullError, LogFullError
from lockstep.events.codec import CodecError

MAX_REASON_CHARS: Final = 10_000
"""Of a letter that is cut: its reason may name every field of what was too large."""

_NOTE_BYTES: Final = 500

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(DeadLetter)


def encode_letter(letter: DeadLetter, limit_bytes: int) -> bytes:
    """A letter as at most so many bytes. Of a payload that is too large the beginning is kept, and
    its reason says so."""
    encoded = _encoder.encode(letter)
    if len(encoded) <= limit_bytes:
        return encoded
    reason, whole_bytes = letter.reason[:MAX_REASON_CHARS], len(letter.payload)
    rest = _encoder.encode(replace(letter, reason=reason, payload=b""))
    kept = letter.payload[: max(0, limit_bytes - len(rest) - _NOTE_BYTES)]
    left_out_bytes = whole_bytes - len(kept)
    note = f"of its {whole_bytes} bytes {left_out_bytes} are left out here: the bus takes no more"
    return _encoder.encode(
        replace(
            letter,
            reason=f"{reason} ({note})" if left_out_bytes else reason,
            payload=kept,
            left_out_bytes=left_out_bytes,
        )
    )


@contextlib.contextmanager
def for_all_apps(letter: str) -> Iterator[None]:
    """Where a letter is stored: a log that is full is not its app's own, and is told as what it
    is."""
    try:
        yield
    except LogFullError as error:
        raise ErrorStoreFullError(letter, error.limit_bytes) from error


def decode_letter(payload: bytes) -> DeadLetter:
    """The letter; CodecError for damaged bytes."""
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise CodecError(f"a damaged dead letter: {error}") from error
