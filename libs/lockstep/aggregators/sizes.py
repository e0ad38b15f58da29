"""How much the running values of a slice may hold.

A set, list, map or text of a group is another one at each event, so those of a slice take memory by
the square of what the group collects: gigabytes for one batch of ten thousand events. The reference
holds one row of a group at a time, so such slices are left to it.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from lockstep.columns.column import Unfit

MAX_BYTES: Final = 512 << 20
"""What the values of one slice may take."""


class Sizes:
    """Counts what values take that are held together. What is inside them is held once and not
    counted; an array in a map is made anew like the map itself."""

    __slots__ = ("_bytes", "_most")

    def __init__(self) -> None:
        self._bytes = 0
        self._most = MAX_BYTES

    def counted(self, value: Any) -> Any:
        """The same value. Unfit when there is too much by now."""
        self._bytes += sys.getsizeof(value)
        if isinstance(value, dict):
            self._bytes += sum(map(sys.getsizeof, value.values()))
        if self._bytes > self._most:
            raise Unfit(
                f"the running values of an aggregator take more than {self._most} bytes in a slice"
            )
        return value
