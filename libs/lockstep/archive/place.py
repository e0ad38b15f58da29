"""Where the archive is, and under which name the suite notes how far it is."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lockstep.settings import ArchiveSettings

_PATIENCE: Final = {
    "max_retries": "3", "retry_timeout": "10s", "backoff_config.max_backoff": "2s",
    "connect_timeout": "5s",
}  # fmt: skip
"""Whoever writes tries again for ever, and says so meanwhile. The library alone would be silent for
three minutes."""


@dataclass(frozen=True)
class Place:
    """The archive's folder: a path, or `s3://bucket/prefix` with its options."""

    folder: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Secrets are among them."""

    def __post_init__(self) -> None:
        if "://" not in self.folder:
            object.__setattr__(self, "folder", str(Path(self.folder).absolute()))

    def at(self, path: str) -> str:
        """The address of a table."""
        return f"{self.folder.rstrip('/')}/{path}"

    @property
    def is_folder(self) -> bool:
        """Of this machine, or one that looks so."""
        return "://" not in self.folder


def place_of_settings(settings: ArchiveSettings) -> Place | None:
    """None where no folder is named: then nothing is archived."""
    if not settings.folder:
        return None
    given = {
        "AWS_ENDPOINT_URL": settings.s3_endpoint,
        "AWS_REGION": settings.s3_region,
        "AWS_ACCESS_KEY_ID": settings.s3_access_key.get_secret_value(),
        "AWS_SECRET_ACCESS_KEY": settings.s3_secret_key.get_secret_value(),
    }
    options = {key: value for key, value in given.items() if value}
    if settings.s3_endpoint.startswith("http://"):
        options["AWS_ALLOW_HTTP"] = "true"
    if "://" in settings.folder:
        options |= _PATIENCE
    return Place(settings.folder, options)


def sink_name(settings: ArchiveSettings, side: str) -> str:
    """Of the cursor that says how far the archive is. Another folder is another archive."""
    return f"archive.{side}.{zlib.crc32(settings.folder.encode()):08x}"
