"""Shares of the keys of an app's value partitions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from lockstep.columns.column import Array
from lockstep.columns.keys import Ids, KeySpace


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` shares of the keys of an app's partitions."""

    index: int
    count: int

    def owns(self, key: Hashable) -> bool:
        """Whether instances of the key live here; the same on every machine and in every
        release."""
        return crc32(str(key).encode()) % self.count == self.index

    def assign(self, space: KeySpace, codes: Array, keys: Sequence[Hashable]) -> Ids:
        """As KeySpace.assign for keys that live here; different negative numbers for others."""
        used = np.bincount(codes, minlength=len(keys)) > 0
        table = np.zeros(len(keys), np.int64)
        foreign: dict[Hashable, int] = {}
        for code in np.flatnonzero(used).tolist():
            key = keys[code]
            if self.owns(key):
                table[code] = space.id_of(key)
            else:
                table[code] = foreign.setdefault(key, -1 - len(foreign))
        return table[codes]
