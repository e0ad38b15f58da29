"""The app's text is changed under load: at one position for all, with the state that fits."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp

from tests.chaos.app import text_of
from tests.chaos.scene import Scene, fault

LIMIT_S = 60
POLL_S = 0.1
REMOVED = "(not in this text)"


@fault("upgrade", copies=2)
async def upgrade(scene: Scene) -> None:
    """The app is deployed with another text; its windows, pattern and table go on."""
    await scene.standby()
    version = await _deployed(scene)
    position = await _runs(scene, version)
    scene.note = f"from position {position} on"


@fault("upgrade-killed", copies=2)
async def upgrade_killed(scene: Scene) -> None:
    """The same, and SIGKILL for the leading processor in the midst of it."""
    active = await scene.active()
    await scene.standby()
    version = await _deployed(scene)
    seconds = await scene.hold(0, 0.6)
    await scene.site.kill(active)
    await scene.hold(0, 2)
    scene.site.start(active)
    position = await _runs(scene, version)
    scene.note = f"{active} {seconds * 1_000:.0f} ms later, from position {position} on"


async def _deployed(scene: Scene) -> str:
    """Deploys the text that is not there; gives its version."""
    async with asyncio.timeout(LIMIT_S):
        while not (generation := (await scene.site.status()).get("generation")):
            await asyncio.sleep(POLL_S)
    text = text_of(generation + 1)
    async with asyncio.timeout(LIMIT_S):
        while (version := await _put(scene, text)) is None:
            await asyncio.sleep(POLL_S)
    return version


async def _put(scene: Scene, text: str) -> str | None:
    """The version; None: to be asked again, which changes nothing where it was done."""
    url = f"{scene.site.of('coordinator')[0].url}/v1/apps"
    try:
        async with scene.site.session.put(url, json={"text": text}) as response:
            if response.status in (400, 409, 422):
                raise AssertionError(f"no upgrade: {response.status} {await response.text()}")
            return str((await response.json())["version"]) if response.ok else None
    except (aiohttp.ClientError, TimeoutError, OSError):
        return None


async def _runs(scene: Scene, version: str) -> int:
    """Behind which position all replicas run it."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            replicas: list[dict[str, Any]] = (await scene.site.status()).get("replicas", [])
            if len(replicas) > 1 and all(one["version"] == version for one in replicas):
                _let_nothing_be_lost(replicas)
                position: int = max(one["begins_behind"] for one in replicas)
                return position
            await asyncio.sleep(POLL_S)


def _let_nothing_be_lost(replicas: list[dict[str, Any]]) -> None:
    """What both texts have goes on."""
    lost = [what for one in replicas for what in one["began_empty"] if REMOVED not in what]
    if lost:
        raise AssertionError(f"begins empty: {', '.join(lost)}")
