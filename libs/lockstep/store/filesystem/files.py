"""Files that are wholly there or not at all: written aside, synced, renamed, checksummed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json

Thing = TypeVar("Thing")

PART: Final = ".part"
"""What a file is called while it is written."""

_DIGEST_BYTES = 32


class DamagedFileError(LockstepError):
    """A file whose checksum does not fit its content."""

    fault = Fault.EXTERNAL


def file_name(name: str) -> str:
    """Any name as a file can be called that has an ending behind it."""
    return quote(name, safe="") or "%"


def folder_name(name: str) -> str:
    """Any name as a folder can be called. `.` and `..` would be other folders than one of its
    own."""
    quoted = file_name(name)
    return quoted.replace(".", "%2E") if quoted in (".", "..") else quoted


def write_file(path: Path, content: bytes) -> None:
    """Durable and whole when it returns; UnavailableError when the disk does not take it."""
    aside = path.with_name(path.name + PART)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        raise UnavailableError(f"cannot write {path}: {error.strerror}", where=str(path)) from error


def read_file(path: Path) -> bytes | None:
    """The content, or None when there is no such file; DamagedFileError when it is not whole."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnavailableError(f"cannot read {path}: {error.strerror}", where=str(path)) from error
    digest, content = raw[:_DIGEST_BYTES], raw[_DIGEST_BYTES:]
    if hashlib.sha256(content).digest() != digest:
        raise DamagedFileError("checksum does not fit", where=str(path), hint="use an older one")
    return content


def read_json(path: Path, kind: type[Thing]) -> Thing | None:
    """What `write_file` has written as JSON; errors as those of `read_file`."""
    content = read_file(path)
    return None if content is None else from_json(content, kind)


def ends_whole(path: Path) -> bool:
    """Whether the last line of a file that is not empty was written to its end."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder against other processes; for check-and-write in one step.

    UnavailableError when that cannot be had.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise UnavailableError(
            f"cannot lock {folder}: {error.strerror}", where=str(folder)
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
