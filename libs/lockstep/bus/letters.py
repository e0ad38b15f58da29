"""Dead letters as bytes: MessagePack of their fields, the original payload untouched."""

from __future__ import annotations

import msgspec

from lockstep.bus.contract import DeadLetter
from lockstep.events.codec import CodecError

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(DeadLetter)


def encode_letter(letter: DeadLetter) -> bytes:
    """A letter as bytes."""
    return _encoder.encode(letter)


def decode_letter(payload: bytes) -> DeadLetter:
    """The letter; CodecError for damaged bytes."""
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise CodecError(f"a damaged dead letter: {error}") from error
