"""How a file that is done comes to its place, also on another file system."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path


def move(path: Path, target: Path, mark: str) -> None:
    """Takes the place of a file of that name; OSError. Whoever dies in between does it again.

    `mark`: of the file, so that a part of it that somebody left is written over.
    """
    try:
        path.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        aside = target.with_name(f".lockstep.{mark}")
        shutil.copy2(path, aside)
        _to_disk(aside)
        aside.replace(target)
        _to_disk(target.parent)
        path.unlink()


def _to_disk(path: Path) -> None:
    """What a file holds, or the names of a folder."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
