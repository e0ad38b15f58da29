"""Secrets of the supervised servers: made once, kept in files that only their owner reads."""

from __future__ import annotations

import os
from pathlib import Path

from lockstep.clock import Randomness


def secret(path: Path, randomness: Randomness) -> str:
    """The secret kept at `path`, made there with mode 600 on the first call."""
    if not path.exists():
        write_private(path, randomness.secret())
    return path.read_text("utf-8")


def write_private(path: Path, text: str) -> None:
    """Replaces `path` by `text`, readable by its owner alone from the first byte on."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)
