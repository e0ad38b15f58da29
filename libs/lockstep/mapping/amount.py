"""How much a message may become.

Some forms write a value in a byte or in none, and each becomes an object. So a mapper of such a
form counts while it reads, and a message of some megabytes cannot take gigabytes.
"""

from __future__ import annotations

import threading
from typing import Final

from lockstep.mapping.contract import MappingError

MAX_VALUES: Final = 20_000_000
"""Of a message, or of each attribute where it is read by itself: values in records, lists and maps,
of which each counts as four, too. Those for which a byte or less stands take some gigabyte then."""

_ITSELF: Final = 4


class _Left(threading.local):
    """Values that the message which a thread reads may still have."""

    values = MAX_VALUES


_left: Final = _Left()


def begin_message() -> None:
    """What this thread counts from now on is another message's, or attribute's."""
    _left.values = MAX_VALUES


def may_be_too_much(objects: int) -> bool:
    """Whether a message of at most so many values, of whatever kind, has to be counted."""
    return objects * (_ITSELF + 1) > MAX_VALUES


def count(members: int) -> None:
    """A record, list or map of so many more. MappingError when the message is too much."""
    _left.values -= _ITSELF + members
    if _left.values < 0:
        raise MappingError(
            f"the message is more than {MAX_VALUES} values, where a record, list or map is four",
            hint="send smaller ones",
        )
