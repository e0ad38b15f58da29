"""Files of a service's machine that no app may name, whatever the service's user may read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

HINT = "name a file in a folder that is for apps"
_OWN_PROCESS: Final = ("self", "thread-self")
_closed: frozenset[Path] = frozenset()
"""Whole paths as they were given. Where their links lead changes, as when a key is renewed."""


def close_to_apps(paths: Iterable[str | Path]) -> None:
    """Files, and folders with all that is in them, from now on in this process."""
    global _closed
    _closed |= {Path(os.path.abspath(one)) for one in paths}


def is_named_closed(path: str | Path) -> bool:
    """What a path says by itself of `is_closed`, before its links are followed. Asks no file
    system, which may hang: an event loop may call it."""
    if "\0" in str(path):
        return True
    try:
        return _is_within(Path(os.path.abspath(path)), _closed)
    except OSError:
        return True  # the working directory is gone


def is_closed(path: str | Path) -> bool:
    """Whether a path, or what its links lead to, is of the suite: its secrets, its keys, its data;
    or tells of a process, whose environment may hold such; or leads nowhere. Asks the file system:
    call it on a thread."""
    if is_named_closed(path):
        return True
    try:
        found = Path(path).resolve()
    except (OSError, RuntimeError, ValueError):
        return True  # a link that leads to itself, for example
    return _is_within(found, {Path(os.path.realpath(one)) for one in _closed})


def refuse_closed(*paths: str | Path) -> None:
    """OSError for the first that `is_closed`; an empty one names nothing. Whatever opens a file
    that an app names for a client's key or certificate asks here first."""
    for path in paths:
        if path and is_closed(path):
            raise OSError(f"{path} is not for apps: {HINT}")


def _is_within(found: Path, closed: Collection[Path]) -> bool:
    if found.parts[1:2] == ("proc",) and found.parts[2:3]:
        process = found.parts[2]
        if process.isdigit() or process in _OWN_PROCESS:
            return True
    return any(one in closed for one in (found, *found.parents))
