"""Numbers that look random and are the same on every replica.

A draw is a digest of the place in the app, the app clock and a counter that is part of the state:
two replicas that folded the same log have drawn the same, and a restored one goes on from there.
"""

from __future__ import annotations

import hashlib

from lockstep.operators.contract import Context, PlainState, Stateful

_FRACTION_BITS = 53


class Draws:
    """The draws of one call of a function in one query (of one partition instance)."""

    __slots__ = ("_context", "_drawn", "_place")

    def __init__(self, context: Context, purpose: str) -> None:
        self._context = context
        self._drawn = 0
        # Where the context belongs to an app, its name keeps equal places of two apps apart.
        app = getattr(getattr(context, "engine", None), "plan", None)
        name = "" if app is None else app.checked.name
        place = getattr(context, "path", "")
        self._place = f"{name}/{place}/{register_once(context, purpose, self)}"

    def digest(self) -> bytes:
        """16 bytes, different at every call."""
        self._drawn += 1
        seed = f"{self._place}|{self._context.now_ms()}|{self._drawn}"
        return hashlib.blake2b(seed.encode(), digest_size=16).digest()

    def fraction(self) -> float:
        bits = int.from_bytes(self.digest()[:8], "big") >> (64 - _FRACTION_BITS)
        return bits / float(1 << _FRACTION_BITS)

    def uuid(self) -> str:
        """The text of a version 4 UUID."""
        raw = bytearray(self.digest())
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        digits = raw.hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def snapshot(self) -> PlainState:
        """How often was drawn."""
        return self._drawn

    def restore(self, state: PlainState) -> None:
        self._drawn = state


def register_once(context: Context, purpose: str, operator: Stateful) -> str:
    """Registers under the first free name: one query may call a function several times."""
    count = 1
    while True:
        name = purpose if count == 1 else f"{purpose}_{count}"
        try:
            context.register(name, operator)
        except ValueError:
            count += 1
        else:
            return name
