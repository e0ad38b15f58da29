"""Files of a service's machine that no app may name, whatever the service's user may read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

HINT = "name a file in a folder that is for apps"
_closed: frozenset[Path] = frozenset()


def close_to_apps(paths: Iterable[str | Path]) -> None:
    """Files, and folders with all that is in them, from now on in this process."""
    global _closed
    _closed |= {Path(one).resolve() for one in paths}


def is_closed(path: str | Path) -> bool:
    """Whether a path, or what its links lead to, is of the suite: its secrets, its keys, its data;
    or tells of a process, whose environment may hold such. Asks the file system."""
    found = Path(path).resolve()
    if found.parts[1:2] == ("proc",) and found.parts[2:3] and found.parts[2].isdigit():
        return True
    return not _closed.isdisjoint((found, *found.parents))
