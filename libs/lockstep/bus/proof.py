"""Proof that a control message comes from a process that knows the cluster's secret.

A message carries the time and an HMAC-SHA256 over time, subject and payload. Its key is derived
from the secret, which itself is never used. Pure but for the clock that is passed in.

A message that is heard again within its age does what it did before: a heartbeat tells what was
so a moment ago; a hand-over moves the lead again, to a replica that is ready; what a write, a
redelivery or an erasure did is done already. So ids of messages are not kept.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from lockstep.clock import Clock

MARK: Final = b"\0LS1"
"""No JSON and no msgpack array begins so."""
_PURPOSE: Final = b"lockstep control messages 1"
_HASH: Final = "sha256"
_MAC_BYTES: Final = 32
_TIME: Final = struct.Struct(">Q")
_LENGTH: Final = struct.Struct(">H")
PROOF_BYTES: Final = len(MARK) + _TIME.size + _MAC_BYTES
"""In front of a payload."""


class Unproven(StrEnum):
    """Why a message is not heard."""

    NONE = "no proof"
    WRONG = "wrong proof"
    OLD = "too old"


@dataclass(frozen=True, slots=True)
class Opened:
    """A message's payload, and what an answer to it is bound to."""

    payload: bytes
    mac: bytes = b""


class Proofs:
    """`secrets`: the first one signs, all are taken; none: nothing is signed, and nothing asked."""

    def __init__(
        self, secrets: Sequence[str], clock: Clock, max_age_ms: int, *, hears_unproven: bool = False
    ) -> None:
        self._keys = [hmac.digest(one.encode(), _PURPOSE, _HASH) for one in secrets if one]
        self._clock = clock
        self._max_age_ms = max_age_ms
        self.hears_unproven = hears_unproven or not self._keys

    def sealed(self, subject: str, payload: bytes, *, to: bytes = b"") -> bytes:
        """With the proof. `to`: what the message that this answers was bound to."""
        if not self._keys:
            return payload
        time = _TIME.pack(self._clock.now_ms())
        return MARK + time + _mac(self._keys[0], time, subject, to, payload) + payload

    def opened(self, subject: str, message: bytes, *, to: bytes = b"") -> Opened | Unproven:
        """Without the proof, or why it is not heard."""
        if not message.startswith(MARK) or len(message) < PROOF_BYTES:
            return Opened(message) if self.hears_unproven else Unproven.NONE
        time, payload = message[len(MARK) : len(MARK) + _TIME.size], message[PROOF_BYTES:]
        mac = message[len(MARK) + _TIME.size : PROOF_BYTES]
        if not self._keys:
            return Opened(payload, mac)
        is_good = [
            hmac.compare_digest(mac, _mac(key, time, subject, to, payload)) for key in self._keys
        ]
        if not any(is_good):
            return Unproven.WRONG
        age_ms = self._clock.now_ms() - _TIME.unpack(time)[0]
        return Opened(payload, mac) if abs(age_ms) <= self._max_age_ms else Unproven.OLD

    def mac_of(self, message: bytes) -> bytes:
        """What answers to this message of one's own have to be bound to."""
        return message[len(MARK) + _TIME.size : PROOF_BYTES] if self._keys else b""


def _mac(key: bytes, time: bytes, subject: str, to: bytes, payload: bytes) -> bytes:
    """No two different messages give the same bytes here: what varies in length says how long."""
    name = subject.encode()
    parts = (time, _LENGTH.pack(len(name)), name, _LENGTH.pack(len(to)), to, payload)
    return hmac.digest(key, b"".join(parts), _HASH)
