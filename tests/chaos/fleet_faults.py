"""Faults of a fleet: its units lose their leaders, go to other places and other numbers, and
somebody dies in the midst of that."""

from __future__ import annotations

from typing import Any

from lockstep.bus import LogName
from lockstep.clock import SystemClock
from lockstep.control import group_and_layout
from tests.chaos.fleet_app import FLEET, PARALLELS, TEXT, cut
from tests.chaos.scene import LEADER_LIMIT_MS, Scene, fault

CLOCK = SystemClock()
BYSTANDERS = ("processor", "processor", "processor", "publisher", "coordinator", "receiver")
"""Of whom one dies while something changes: mostly a processor."""


@fault("fleet-unit-killed", copies=3)
async def unit_killed(scene: Scene) -> None:
    """SIGKILL for the processor that leads a drawn unit; how long until that unit's next rows."""
    name, node = await _led_unit(scene)
    archive = scene.fleet.units[name]
    epoch, killed_ms = archive.epoch, CLOCK.monotonic_ms()
    await scene.site.kill(node)
    took_ms = await archive.rows_after_epoch(epoch, LEADER_LIMIT_MS) - killed_ms
    scene.unit_failovers_ms.append(took_ms)
    scene.note = f"{node}, {name.group}/{name.partition} after {took_ms} ms"
    await scene.hold(0, 3)
    scene.site.start(node)


@fault("fleet-rescaled", copies=2)
async def rescaled(scene: Scene) -> None:
    """The fleet goes over to another number of partitions, with its state."""
    parallel = await _rescale(scene)
    status = await _runs_in(scene, parallel)
    scene.note = f"{parallel} partitions, layout {status['layout']}"


@fault("fleet-rescaled-killed", copies=4)
async def rescaled_killed(scene: Scene) -> None:
    """The same, and SIGKILL for somebody in the midst of it."""
    parallel = await _rescale(scene)
    who = await _kill_somebody(scene, 2.0)
    status = await _runs_in(scene, parallel)
    scene.note = f"{parallel} partitions, layout {status['layout']}, {who}"


@fault("fleet-drained-killed", copies=2)
async def drained_killed(scene: Scene) -> None:
    """A processor gives away all it carries; another process gets SIGKILL in the midst of it."""
    node = scene.one_of("processor")
    path = f"/v1/nodes/{node}/drain"
    await scene.ask("PUT", path)
    who = await _kill_somebody(scene, 3.0, spared=node)
    await scene.until(FLEET, lambda status: node not in _carriers(status))
    await scene.ask("DELETE", path)
    scene.note = f"{node}, {who}"


@fault("fleet-joined-killed", copies=2)
async def joined_killed(scene: Scene) -> None:
    """A processor joins, and when it gets its first unit another process gets SIGKILL."""
    node = scene.one_of("processor")
    await scene.site.kill(node)
    await scene.until(FLEET, lambda status: node not in _carriers(status))
    scene.site.start(node)
    await scene.until(FLEET, lambda status: node in _carriers(status))
    scene.note = f"{node}, {await _kill_somebody(scene, 2.0, spared=node)}"


@fault("fleet-rebalanced-killed", copies=2)
async def rebalanced_killed(scene: Scene) -> None:
    """A drained processor is given its share at once, and somebody gets SIGKILL in the midst."""
    node = scene.one_of("processor")
    path = f"/v1/nodes/{node}/drain"
    await scene.ask("PUT", path)
    await scene.until(FLEET, lambda status: node not in _carriers(status))
    await scene.ask("DELETE", path)
    moves = (await scene.ask("POST", "/v1/rebalance", {}))["moves"]
    who = await _kill_somebody(scene, 2.0)
    await scene.until(FLEET, lambda status: node in _carriers(status))
    scene.note = f"{len(moves)} moves to {node}, {who}"


async def _led_unit(scene: Scene) -> tuple[LogName, str]:
    """A drawn unit's log, and who leads it."""
    status = await scene.until(FLEET, lambda one: one["status"] == "active")
    led = [one for one in status["replicas"] if one["role"] == "active"]
    chosen = scene.random.choice(sorted(led, key=lambda one: str(one["unit"])))
    place = (chosen["group"], status["layout"], chosen["partition"])
    logs = {(*group_and_layout(one.group), one.partition): one for one in scene.fleet.units}
    return logs[place], str(chosen["node"])


async def _rescale(scene: Scene) -> int:
    """Deploys it with a number of partitions that it does not have."""
    status = await scene.until(FLEET, lambda one: bool(one.get("parallel")))
    parallel = scene.random.choice([one for one in PARALLELS if one != status["parallel"]])
    await scene.ask("PUT", "/v1/apps", {"text": TEXT, "parallel": parallel})
    return parallel


async def _runs_in(scene: Scene, parallel: int) -> dict[str, Any]:
    """Once each unit of that cut is led, and the units of no other are carried."""
    units = sum(group.partitions for group in cut(parallel).groups)

    def all_led(status: dict[str, Any]) -> bool:
        right = (status["parallel"], len(status["units"])) == (parallel, units)
        return right and status["status"] == "active"

    return await scene.until(FLEET, all_led)


def _carriers(status: dict[str, Any]) -> set[str]:
    return {node for unit in status["units"] for node in unit["nodes"]}


async def _kill_somebody(scene: Scene, within_s: float, spared: str | None = None) -> str:
    """A while later; it is started again. Gives who, and when."""
    seconds = await scene.hold(0, within_s)
    service = scene.random.choice(BYSTANDERS)
    nodes = [one.node for one in scene.site.of(service) if one.node != spared]
    node = scene.random.choice(nodes)
    await scene.site.kill(node)
    await scene.hold(0, 2)
    scene.site.start(node)
    return f"{node} killed {seconds * 1_000:.0f} ms later"
