"""The app's text is changed under load: at one position for all, with the state that fits."""

from __future__ import annotations

from typing import Any

from tests.chaos.app import APP, text_of
from tests.chaos.scene import Scene, fault

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
    status = await scene.until(APP, lambda one: bool(one.get("generation")))
    answer = await scene.ask("PUT", "/v1/apps", {"text": text_of(status["generation"] + 1)})
    return str(answer["version"])


async def _runs(scene: Scene, version: str) -> int:
    """Behind which position all replicas run it."""

    def all_do(status: dict[str, Any]) -> bool:
        replicas = status["replicas"]
        return len(replicas) > 1 and all(one["version"] == version for one in replicas)

    replicas = (await scene.until(APP, all_do))["replicas"]
    _let_nothing_be_lost(replicas)
    position: int = max(one["begins_behind"] for one in replicas)
    return position


def _let_nothing_be_lost(replicas: list[dict[str, Any]]) -> None:
    """What both texts have goes on."""
    lost = [what for one in replicas for what in one["began_empty"] if REMOVED not in what]
    if lost:
        raise AssertionError(f"begins empty: {', '.join(lost)}")
