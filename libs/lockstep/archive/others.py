"""What the archive has of an app beside the tables of its logs: rows that its pasts gave out, and
results of back-tests over its input. All calls block.

    <folder>/_past/<app>.<deployed>.<life>/<whose input>/<since>/output/<stream>/<shape>
    <folder>/_backtests/<run>/<whose input>/<since>/output/<stream>/<shape>
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockstep.archive import naming
from lockstep.archive.keeping import SideArchive
from lockstep.archive.place import Place
from lockstep.archive.reading import apps_of, lives_of
from lockstep.archive.tables import folders_below, remove_folder


def result_sides(place: Place, app: str) -> Iterator[SideArchive]:
    """Of the rows that were folded from an app's input, or given out in its name."""
    for folder in folders_below(place, naming.PAST):
        owner, _ = _past_of(folder)
        yield from _sides_below(place, f"{naming.PAST}/{folder}", None if owner == app else app)
    for run in folders_below(place, naming.BACKTESTS):
        yield from _sides_below(place, f"{naming.BACKTESTS}/{run}", app)


def _sides_below(place: Place, path: str, app: str | None) -> Iterator[SideArchive]:
    within = Place(place.at(path), place.options)
    for name in apps_of(within):
        if app is None or name == app:
            for logs in lives_of(within, name):
                yield SideArchive(within, logs, naming.OUTPUT)


def _past_of(folder: str) -> tuple[str, int]:
    """Whose it is, and when that was deployed; ("", 0) for a folder that is none of ours."""
    name, _, rest = folder.partition(".")
    deployed_ms, _, number = rest.partition(".")
    if not (deployed_ms.isdecimal() and number.isdecimal()):
        return "", 0
    return naming.name_of(name), int(deployed_ms)


def expire_pasts(
    place: Place, app: str, retention_ms: Callable[[str], int | None], now_ms: int
) -> int:
    """Removes rows of an app's pasts that are over age; gives how many tables went. They are as old
    as the deployment that gave them: the day in them says nothing."""
    gone = 0
    for folder in folders_below(place, naming.PAST):
        owner, deployed_ms = _past_of(folder)
        if owner != app:
            continue
        for side in _sides_below(place, f"{naming.PAST}/{folder}", None):
            for name, _ in side.tables():
                age_ms = retention_ms(name.stream)
                if age_ms is not None and deployed_ms < now_ms - age_ms:
                    remove_folder(side.place, name.path)
                    gone += 1
    return gone


def expire_backtests(place: Place, app: str, keep_ms: int, now_ms: int) -> int:
    """Removes results of back-tests over an app's input that began longer ago than `keep_ms`; gives
    how many runs went. A run is named by when it began; one of another name stays."""
    gone = 0
    for run in folders_below(place, naming.BACKTESTS):
        began_ms, dash, _ = run.partition("-")
        if not (dash and began_ms.isdecimal()) or int(began_ms) >= now_ms - keep_ms:
            continue
        path = f"{naming.BACKTESTS}/{run}"
        if app in apps_of(Place(place.at(path), place.options)):
            remove_folder(place, path)
            gone += 1
    return gone
