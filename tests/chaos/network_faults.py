"""Faults of the network between a service and a server: cut in one direction or both, slow."""

from __future__ import annotations

from lockstep.clock import SystemClock
from tests.chaos.network import Direction
from tests.chaos.scene import Scene, fault

CLOCK = SystemClock()
NEEDED = {
    "receiver": ("nats", "postgres", "redis"),
    "processor": ("nats", "redis", "postgres"),
    "publisher": ("nats", "redis", "postgres"),
    "presenter": ("nats", "postgres"),
    "coordinator": ("nats", "redis", "postgres"),
}
ISOLATED_S = (18, 22)  # longer than processor.isolation_timeout_ms


@fault("cut", copies=6)
async def cut(scene: Scene) -> None:
    """The network between a drawn service and a drawn server is cut, one way or both."""
    service = scene.random.choice(sorted(NEEDED))
    server = scene.random.choice(NEEDED[service])
    await _cut(scene, scene.one_of(service), server, scene.random.choice(list(Direction)), (1, 12))


@fault("isolated-from-redis")
async def isolated_from_redis(scene: Scene) -> None:
    """The leading processor reaches NATS and not Redis."""
    await _cut(scene, await scene.active(), "redis", Direction.BOTH, ISOLATED_S)


@fault("isolated-from-nats")
async def isolated_from_nats(scene: Scene) -> None:
    """The leading processor reaches Redis and not NATS."""
    await _cut(scene, await scene.active(), "nats", Direction.BOTH, ISOLATED_S)


@fault("isolated-answers")
async def isolated_answers(scene: Scene) -> None:
    """What the leading processor writes arrives at NATS; it hears nothing of it."""
    await _cut(scene, await scene.active(), "nats", Direction.ANSWERS, (3, 12))


@fault("slow-nats")
async def slow_nats(scene: Scene) -> None:
    """Everything to and from NATS takes longer."""
    await _slow(scene, "nats", scene.random.randrange(10, 60))


@fault("slow-postgres")
async def slow_postgres(scene: Scene) -> None:
    """Everything to and from PostgreSQL takes much longer: a slow disk."""
    await _slow(scene, "postgres", scene.random.randrange(200, 800))


async def _cut(
    scene: Scene, node: str, server: str, direction: Direction, seconds: tuple[float, float]
) -> None:
    epoch, began_ms = scene.archive.epoch, CLOCK.monotonic_ms()
    scene.site.network.cut(node, server, direction)
    try:
        held = await scene.hold(*seconds)
    finally:
        scene.site.network.mend()
    silence_ms = scene.archive.longest_silence_ms(began_ms, CLOCK.monotonic_ms())
    moved = "the lead moved" if scene.archive.epoch > epoch else "the lead stayed"
    scene.note = (
        f"{node} and {server}, {direction.value}, for {held:.1f} s: {moved}, "
        f"longest silence {silence_ms} ms"
    )


async def _slow(scene: Scene, server: str, delay_ms: int) -> None:
    scene.site.network.slow(server, delay_ms)
    try:
        seconds = await scene.hold(3, 10)
    finally:
        scene.site.network.mend()
    scene.note = f"{delay_ms} ms each way for {seconds:.1f} s"
