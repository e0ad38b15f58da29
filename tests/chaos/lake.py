"""Where the apps under chaos are archived: a folder on a small disk of its own, which a fault can
take away, fill, or make unwritable."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

DISK_BYTES = 2_147_483_648


@dataclass(frozen=True)
class Lake:
    """`disk`: a mount of its own; None where that is not allowed here."""

    directory: Path
    disk: Path | None

    @property
    def folder(self) -> Path:
        """As the services know it: a link, which leads to the tables as long as they are there."""
        return self.directory / "lake"

    @property
    def tables(self) -> Path:
        """Where they are, whatever happens to the link."""
        return self._below / "tables"

    @property
    def _below(self) -> Path:
        return self.disk or self.directory / "disk-of-lake"

    def make(self) -> None:
        """Empty."""
        self.tables.mkdir(parents=True)
        self.back()

    def lead_to(self, target: Path) -> None:
        """From one moment to the next."""
        link = self.directory / "lake.new"
        link.symlink_to(target)
        link.replace(self.folder)

    def away(self) -> None:
        """There is nothing where it was, and nothing can be made there."""
        self.lead_to(self._below / "nowhere" / "tables")

    def unmounted(self) -> Path:
        """Where it was there is an empty folder, as below a mount that is gone."""
        empty = self._below / "empty"
        empty.mkdir(exist_ok=True)
        self.lead_to(empty)
        return empty

    def back(self) -> None:
        """As it should be."""
        self.lead_to(self.tables)

    def writable(self, *, is_so: bool) -> bool:
        """Mounts the disk anew, for reading alone or not; whether that went."""
        how = f"remount,{'rw' if is_so else 'ro'}"
        done = subprocess.run(
            ["mount", "-o", how, str(self.disk)], check=False, capture_output=True
        )
        return done.returncode == 0

    def settings(self, interval_ms: int, upkeep_ms: int) -> dict[str, str]:
        """What all services need."""
        return {
            "LOCKSTEP_ARCHIVE__FOLDER": str(self.folder),
            "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
            "LOCKSTEP_ARCHIVE__INTERVAL_MS": str(interval_ms),
            "LOCKSTEP_ARCHIVE__UPKEEP_INTERVAL_MS": str(upkeep_ms),
            "LOCKSTEP_ARCHIVE__KEEP_REPLACED_MS": "1",
        }


def lake_in(directory: Path, disk: Path | None) -> Lake:
    """Made, and led to."""
    lake = Lake(directory, disk)
    lake.make()
    os.chmod(lake.tables, 0o700)
    return lake
