"""Folders of an archive are listed while its writer makes them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

from lockstep.archive.place import Place
from lockstep.archive.tables import folders_below

LISTINGS = 20_000


def test_a_folder_that_is_made_in_the_same_moment_is_listed_or_not(tmp_path: Path) -> None:
    """It was 'the archive is away' where the folder came between two questions of the library."""
    place, folder = Place(str(tmp_path)), tmp_path / "input"
    over = Event()

    def made_and_removed() -> None:
        while not over.is_set():
            folder.mkdir()
            folder.rmdir()

    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(made_and_removed)
        try:
            assert {tuple(folders_below(place, "input")) for _ in range(LISTINGS)} == {()}
        finally:
            over.set()
        making.result()
