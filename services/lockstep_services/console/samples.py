"""The sample apps and their dashboards, as installed."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Final

from lockstep_services.console.widgets import Board, read_board

FOLDER: Final = Path(str(files("lockstep") / "samples"))


def apps() -> dict[str, str]:
    """Name and first line of each sample app."""
    return {
        file.stem: file.read_text("utf-8").split("\n", 1)[0].removeprefix("--").strip()
        for file in sorted(FOLDER.glob("*.siddhi"))
    }


def app_text(name: str) -> str:
    """The text of one of them."""
    return (FOLDER / f"{name}.siddhi").read_text("utf-8")


def boards() -> dict[str, Board]:
    """Their dashboards by name: `<app>.<what>`."""
    return {file.stem: read_board(file.read_bytes()) for file in sorted(FOLDER.glob("*.json"))}
