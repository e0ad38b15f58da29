"""What the older products ran, as apps of Lockstep: texts in, texts and findings out."""

from __future__ import annotations

from lockstep.migration.archives import ArchiveError, members
from lockstep.migration.deployment import Imported, ImportedApp, convert
from lockstep.migration.findings import Fate, Finding, Place
from lockstep.migration.reading import SourceFile

__all__ = [
    "ArchiveError",
    "Fate",
    "Finding",
    "Imported",
    "ImportedApp",
    "Place",
    "SourceFile",
    "convert",
    "members",
]
