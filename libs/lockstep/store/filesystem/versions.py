"""Versions of apps in files: a folder for each app, in it two files for each version. The text is
written before what is known of it: a text alone is no version."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from lockstep.events.typed import from_json
from lockstep.store.contract import Deployment
from lockstep.store.filesystem.files import folder_name, read_file, write_file
from lockstep.store.rules import next_version
from lockstep.store.versions import AppVersion, Deploying, HowDeployed

_TEXT: Final = ".siddhi"
_ABOUT: Final = ".json"


def note(
    folder: Path, deployment: Deployment, deploying: Deploying, before: Deployment | None
) -> None:
    """The text is a version; under the lock of deployments, and before the deployment is written.
    `before`: what goes, in case that it was deployed when versions were not kept yet."""
    place = _place(folder, deployment.app)
    numbers = _numbers(place)
    if not numbers and before is not None:
        earlier = Deploying("", HowDeployed.EARLIER, deploying.keep)
        numbers += _write(place, before, earlier, None)
    newest = _read(place, numbers[-1]) if numbers else None
    numbers += _write(place, deployment, deploying, newest)
    for number in numbers[: -deploying.keep]:
        _remove(place, number)


def newest_first(folder: Path, app: str) -> Sequence[AppVersion]:
    """All of an app."""
    place = _place(folder, app)
    found = (_read(place, number) for number in reversed(_numbers(place)))
    return [one for one in found if one is not None]


def text(folder: Path, app: str, number: int) -> str | None:
    """The text of one; None when it is not there."""
    place = _place(folder, app)
    content = read_file(place / f"{number}{_TEXT}") if _read(place, number) else None
    return None if content is None else content.decode()


def purge(folder: Path, app: str) -> None:
    """Nothing is left of an app, nor of a version that was cut short."""
    place = _place(folder, app)
    for number in _numbers(place):
        _remove(place, number)
    for path in place.glob("*"):
        path.unlink(missing_ok=True)


class FileVersions:
    """See contract.AppVersions."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def list(self, app: str) -> Sequence[AppVersion]:
        return await asyncio.to_thread(newest_first, self._folder, app)

    async def text(self, app: str, number: int) -> str | None:
        return await asyncio.to_thread(text, self._folder, app, number)


def _write(
    place: Path, deployment: Deployment, deploying: Deploying, newest: AppVersion | None
) -> list[int]:
    added = next_version(deployment, deploying, newest)
    if added is None:
        return []
    write_file(place / f"{added.number}{_TEXT}", deployment.text.encode())
    write_file(place / f"{added.number}{_ABOUT}", msgspec.json.encode(added))
    return [added.number]


def _read(place: Path, number: int) -> AppVersion | None:
    content = read_file(place / f"{number}{_ABOUT}")
    return None if content is None else from_json(content, AppVersion)


def _remove(place: Path, number: int) -> None:
    (place / f"{number}{_ABOUT}").unlink(missing_ok=True)
    (place / f"{number}{_TEXT}").unlink(missing_ok=True)


def _numbers(place: Path) -> list[int]:
    return sorted(int(path.name.removesuffix(_ABOUT)) for path in place.glob("*" + _ABOUT))


def _place(folder: Path, app: str) -> Path:
    return folder / folder_name(app)
