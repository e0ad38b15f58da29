"""A count-min sketch and HyperLogLog. They are the same on every replica: the hash is BLAKE2b of
the value, and sums are whole numbers. Only what is in use takes memory."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, Final

from lockstep.operators.contract import PlainState

CELLS_MAX: Final = 2_000_000
"""How many counters a count-min sketch may have."""
BITS_MAX: Final = 20
"""The logarithm of how many registers a HyperLogLog may have."""
_BITS_MIN: Final = 4
_STANDARD_ERROR: Final = 1.04
"""Of a HyperLogLog, times the root of its registers."""
_FACTORS: Final = {16: 0.673, 32: 0.697, 64: 0.709}
SPREADS: Final = {0.65: 0.5, 0.95: 1.0, 0.99: 1.5}
"""By the confidence: how many relative errors the bounds are away."""
_HASH_BITS: Final = 64


def _hashes(value: Any) -> tuple[int, int]:
    """Two of 64 bits, of a value of the attribute's type."""
    if isinstance(value, str):
        raw = value.encode("utf-8", "surrogatepass")
    elif isinstance(value, float):
        raw = struct.pack("<d", math.nan if value != value else value)
    else:
        raw = str(int(value)).encode()
    digest = hashlib.blake2b(raw, digest_size=16).digest()
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:], "big")


def size_for(error: float, confidence: float) -> tuple[int, int]:
    """Rows and columns of a count-min sketch."""
    return math.ceil(math.log(1 / (1 - confidence))), math.ceil(math.e / error)


def bits_for(error: float) -> int:
    """The logarithm of the number of registers with which the error is two standard errors."""
    return max(_BITS_MIN, math.ceil(2 * math.log2(2 * _STANDARD_ERROR / error)))


class CountMin:
    """How often a value is there. It is never told too low; with the confidence it is told too
    high by at most the error times the number of all values."""

    def __init__(self, error: float, confidence: float) -> None:
        self._error = error
        self._rows, self._columns = size_for(error, confidence)
        self._cells: dict[int, int] = {}
        self._total = 0

    def change(self, value: Any, by: int) -> None:
        """The value came (1) or left (-1)."""
        self._total += by
        for cell in self._places(value):
            count = self._cells.get(cell, 0) + by
            if count:
                self._cells[cell] = count
            else:
                del self._cells[cell]

    def _places(self, value: Any) -> list[int]:
        first, second = _hashes(value)
        columns = self._columns
        return [row * columns + (first + row * second) % columns for row in range(self._rows)]

    def told(self, value: Any) -> tuple[int, int, int]:
        """The estimate, and the bounds."""
        count = min(self._cells.get(cell, 0) for cell in self._places(value))
        off = int(self._total * self._error)
        return count, max(0, count - off), count + off

    def clear(self) -> None:
        """Nothing is there."""
        self._total = 0
        self._cells.clear()

    def snapshot(self) -> PlainState:
        """How many values are there, and the counters that are not 0."""
        return (self._total, list(self._cells.items()))

    def restore(self, state: PlainState) -> None:
        self._total, cells = state
        self._cells = dict(cells)


class DistinctEver:
    """How many different values there were. What left counts on."""

    def __init__(self, error: float, confidence: float) -> None:
        self._off = error * SPREADS[round(confidence, 6)]  # a float is near them
        self._bits = bits_for(error)
        self._registers: dict[int, int] = {}
        # The sum of 2 ** -rank over all registers, times 2 ** 64; without a value the rank is 0.
        self._sum = 1 << (self._bits + _HASH_BITS)

    def _place(self, value: Any) -> tuple[int, int]:
        """The register, and the place of the first bit behind its number."""
        left = _HASH_BITS - self._bits
        register, rest = divmod(_hashes(value)[0], 1 << left)
        return register, left - rest.bit_length() + 1

    def _put(self, register: int, rank: int) -> None:
        before = self._registers.pop(register, 0)
        self._sum += (1 << (_HASH_BITS - rank)) - (1 << (_HASH_BITS - before))
        if rank:
            self._registers[register] = rank

    def change(self, value: Any, by: int) -> None:
        """The value came (1) or left (-1)."""
        register, rank = self._place(value)
        if by > 0 and rank > self._registers.get(register, 0):
            self._put(register, rank)

    def told(self, value: Any) -> tuple[int, int, int]:
        """The estimate, and the bounds."""
        size = 1 << self._bits
        factor = _FACTORS.get(size, 0.7213 / (1 + 1.079 / size))
        estimate = factor * size * size / (self._sum / (1 << _HASH_BITS))
        empty = size - len(self._registers)
        if estimate < 2.5 * size and empty:
            estimate = size * math.log(size / empty)
        count = math.floor(estimate + 0.5)
        return count, math.floor(count - count * self._off), math.ceil(count + count * self._off)

    def clear(self) -> None:
        """Nothing is there."""
        self._registers.clear()
        self._sum = 1 << (self._bits + _HASH_BITS)

    def snapshot(self) -> PlainState:
        """The registers that have a value."""
        return list(self._registers.items())

    def restore(self, state: PlainState) -> None:
        self.clear()
        for register, rank in state:
            self._put(register, rank)


class Distinct(DistinctEver):
    """How many different values are there. It counts the values of each register and rank, so
    that they can leave again."""

    def __init__(self, error: float, confidence: float) -> None:
        super().__init__(error, confidence)
        self._counts: dict[tuple[int, int], int] = {}

    def change(self, value: Any, by: int) -> None:
        super().change(value, by)
        register, rank = place = self._place(value)
        count = self._counts.get(place, 0) + by
        if count > 0:
            self._counts[place] = count
            return
        self._counts.pop(place, None)
        if self._registers.get(register) == rank:
            while rank and (register, rank) not in self._counts:
                rank -= 1
            self._put(register, rank)

    def clear(self) -> None:
        super().clear()
        self._counts.clear()

    def snapshot(self) -> PlainState:
        """How many values are there of each register and rank."""
        return [(*place, count) for place, count in self._counts.items()]

    def restore(self, state: PlainState) -> None:
        self.clear()
        for register, rank, count in state:
            self._counts[register, rank] = count
            if rank > self._registers.get(register, 0):
                self._put(register, rank)
