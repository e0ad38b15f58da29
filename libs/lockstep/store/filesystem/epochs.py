"""The epoch of the coordinator's writes, in a file beside what it guards."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lockstep.events.typed import from_json
from lockstep.store.contract import Stale
from lockstep.store.filesystem.files import read_file, write_file


def present(folder: Path) -> int:
    """The newest one that has written; 0 before the first."""
    content = read_file(folder / "epoch")
    return 0 if content is None else from_json(content, int)


def passes(folder: Path, epoch: int) -> Stale | None:
    """None and the epoch noted, or why the write is refused. The caller holds the folder's lock
    until it has written."""
    newest = present(folder)
    if epoch < newest:
        return Stale(newest)
    if epoch > newest:
        write_file(folder / "epoch", msgspec.json.encode(epoch))
    return None
