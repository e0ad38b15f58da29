"""What an archive's folder holds, as somebody finds it who knows nothing of us: by the tables' own
transaction logs, and DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb


class ArchivedFiles:
    """The archive's tables as their own transaction logs have them, read without our code."""

    def __init__(self, folder: Path, app: str) -> None:
        self.app = max((folder / app).iterdir())
        self.folder = folder

    def live(self, table: Path) -> list[str]:
        """The Parquet files of its newest version."""
        log = str(table / "_delta_log" / "*.json")
        found = duckdb.execute(
            "select add.path, remove.path from read_json($1, format='newline_delimited', columns={"
            "'add': 'struct(path varchar)', 'remove': 'struct(path varchar)'}, filename=true) "
            "order by filename",
            parameters=[log],
        ).fetchall()
        files: dict[str, None] = {}
        for added, removed in found:
            if added is not None:
                files[str(table / added)] = None
            if removed is not None:
                files.pop(str(table / removed), None)
        return list(files)

    def tables(self, side: str, root: Path | None = None) -> dict[str, list[str]]:
        """The files of each stream, of all shapes."""
        found: dict[str, list[str]] = {}
        for folder in sorted(((root or self.app) / side).iterdir()):
            shapes = [one for one in folder.iterdir() if (one / "_delta_log").is_dir()]
            if folder.name != "records" and shapes:
                found[folder.name] = [file for one in shapes for file in self.live(one)]
        return found

    def records(self, side: str) -> list[str]:
        """The files of the table with a row per record."""
        return self.live(self.app / side / "records")
