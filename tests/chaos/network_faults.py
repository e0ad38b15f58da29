"""Faults of the network: cut between two or all, in both directions or in one, slow.

Directions count: who cannot be heard and who cannot hear fail in different ways.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.clock import SystemClock
from tests.chaos.network import (
    BUS_HOSTS,
    CLIENTS,
    POSTGRES,
    REDIS,
    Pair,
    both_ways,
    one_way,
)
from tests.chaos.scene import Scene, fault
from tests.chaos.site import HOSTS, PLAN

CLOCK = SystemClock()
BUS = "bus"
NEEDED = {
    "receiver": (BUS, *BUS_HOSTS, POSTGRES, REDIS, CLIENTS),
    "processor": (BUS, *BUS_HOSTS, REDIS, POSTGRES),
    "publisher": (BUS, *BUS_HOSTS, REDIS, POSTGRES),
    "presenter": (BUS, *BUS_HOSTS, POSTGRES),
    "coordinator": (BUS, *BUS_HOSTS, REDIS, POSTGRES),
}
NEEDS = "a line of Kafka's can be cut with namespaces only"
ISOLATED_S = (18, 22)  # longer than processor.isolation_timeout_ms
PARTITIONED_S = (5, 25)


def talking() -> list[Pair]:
    """Who talks to whom in a run; "bus" stands for all its servers at once."""
    pairs = [(node, host) for node, service in PLAN for host in NEEDED[service]]
    pairs += [(a, b) for a in BUS_HOSTS for b in BUS_HOSTS if a < b]
    return [*pairs, ("coordinator-1", "coordinator-2")]


@fault("cut", copies=8)
async def cut(scene: Scene) -> None:
    """The network between a drawn two that talk to each other is cut, one way or both."""
    network = scene.site.network
    first, second = scene.random.choice(
        [(a, b) for a, b in talking() if network.can_cut(a, _hosts(b)[0])]
    )
    ways = {
        f"{first} and {second}": both_ways([first], _hosts(second)),
        f"{first} to {second}": one_way([first], _hosts(second)),
        f"{second} to {first}": one_way(_hosts(second), [first]),
    }
    what = scene.random.choice(sorted(ways))
    await _cut(scene, what, ways[what], (1, 12))


@fault("isolated-from-redis")
async def isolated_from_redis(scene: Scene) -> None:
    """The leading processor reaches the bus and not Redis."""
    active = await scene.active()
    await _cut(scene, f"{active} and Redis", both_ways([active], [REDIS]), ISOLATED_S)


@fault("isolated-from-nats", bus="nats")
@fault("isolated-from-kafka", bus="kafka")
async def isolated_from_bus(scene: Scene) -> None:
    """The leading processor reaches Redis and not the bus."""
    active = await scene.active()
    await _cut(scene, f"{active} and the bus", both_ways([active], BUS_HOSTS), ISOLATED_S)


@fault("isolated-answers")
async def isolated_answers(scene: Scene) -> None:
    """What the leading processor writes arrives at the bus; it hears nothing of it."""
    active = await scene.active()
    await _cut(scene, f"the bus to {active}", one_way(BUS_HOSTS, [active]), (3, 12))


@fault("active-deaf")
async def active_deaf(scene: Scene) -> None:
    """The leading processor hears nobody; what it sends arrives."""
    active = await scene.active()
    await _cut(scene, f"all to {active}", one_way(_reachable(scene, active), [active]), (3, 12))


@fault("active-unheard")
async def active_unheard(scene: Scene) -> None:
    """Nobody hears the leading processor; it hears them."""
    active = await scene.active()
    await _cut(scene, f"{active} to all", one_way([active], _reachable(scene, active)), (3, 12))


@fault("active-isolated")
async def active_isolated(scene: Scene) -> None:
    """The leading processor and everybody else do not reach each other."""
    active = await scene.active()
    pairs = both_ways([active], _reachable(scene, active))
    await _cut(scene, f"{active} and all", pairs, ISOLATED_S)


@fault("isolated")
async def isolated(scene: Scene) -> None:
    """A drawn service and everybody else do not reach each other."""
    node = scene.random.choice([node for node, _ in PLAN])
    await _cut(scene, f"{node} and all", both_ways([node], _reachable(scene, node)), (2, 15))


@fault("nats-partitioned", copies=2, bus="nats")
@fault("kafka-partitioned", copies=2, bus="kafka")
async def bus_partitioned(scene: Scene) -> None:
    """One server of the bus is cut off from the other two, and not from its clients."""
    await _partition(scene, scene.random.choice(BUS_HOSTS))


@fault("nats-leader-partitioned", bus="nats")
@fault("kafka-leader-partitioned", bus="kafka")
async def bus_leader_partitioned(scene: Scene) -> None:
    """The server that leads the output log is cut off from its peers, not from clients."""
    await _partition(scene, await _log_leader(scene))


@fault("nats-leader-one-way", bus="nats")
@fault("kafka-leader-one-way", bus="kafka")
async def bus_leader_one_way(scene: Scene) -> None:
    """The same in one direction: its peers do not hear it, or it does not hear them."""
    leader = await _log_leader(scene)
    if not _between_servers(scene):
        return
    heard = scene.random.random() < 0.5
    pairs = one_way(BUS_HOSTS, [leader]) if heard else one_way([leader], BUS_HOSTS)
    what = f"peers to {leader}" if heard else f"{leader} to peers"
    await _cut(scene, what, pairs, PARTITIONED_S)


@fault("slow-nats", bus="nats")
@fault("slow-kafka", bus="kafka")
async def slow_bus(scene: Scene) -> None:
    """Everything to and from the bus takes longer."""
    await _slow(scene, BUS_HOSTS, scene.random.randrange(10, 60))


@fault("slow-postgres")
async def slow_postgres(scene: Scene) -> None:
    """Everything to and from PostgreSQL takes much longer: a slow disk."""
    await _slow(scene, [POSTGRES], scene.random.randrange(200, 800))


def _hosts(name: str) -> Sequence[str]:
    return BUS_HOSTS if name == BUS else [name]


def _reachable(scene: Scene, node: str) -> list[str]:
    return [host for host in HOSTS if host != node and scene.site.network.can_cut(node, host)]


def _between_servers(scene: Scene) -> bool:
    possible = scene.site.network.can_cut(BUS_HOSTS[0], BUS_HOSTS[1])
    if not possible:
        scene.skipped.append("what is between servers of the bus needs namespaces")
    return possible


async def _log_leader(scene: Scene) -> str:
    leader = await scene.site.bus.leader(scene.site.log)
    return scene.random.choice(BUS_HOSTS) if leader is None else BUS_HOSTS[leader]


async def _partition(scene: Scene, server: str) -> None:
    if _between_servers(scene):
        peers = [host for host in BUS_HOSTS if host != server]
        await _cut(scene, f"{server} and its peers", both_ways([server], peers), PARTITIONED_S)


async def _cut(
    scene: Scene, what: str, pairs: Sequence[Pair], seconds: tuple[float, float]
) -> None:
    epoch, began_ms = scene.archive.epoch, CLOCK.monotonic_ms()
    if not any(scene.site.network.can_cut(*pair) for pair in pairs):
        scene.skipped.append(f"{what}: {NEEDS}")
        return
    scene.site.network.cut(pairs)
    try:
        held = await scene.hold(*seconds)
    finally:
        scene.site.network.mend()
    silence_ms = scene.archive.longest_silence_ms(began_ms, CLOCK.monotonic_ms())
    moved = "the lead moved" if scene.archive.epoch > epoch else "the lead stayed"
    scene.note = f"{what} for {held:.1f} s: {moved}, longest silence {silence_ms} ms"


async def _slow(scene: Scene, hosts: Sequence[str], delay_ms: int) -> None:
    if not any(scene.site.network.can_cut(node, hosts[0]) for node, _ in PLAN):
        scene.skipped.append(f"{hosts[0]} slow: {NEEDS}")
        return
    scene.site.network.slow(hosts, delay_ms)
    try:
        seconds = await scene.hold(3, 10)
    finally:
        scene.site.network.mend()
    scene.note = f"{delay_ms} ms each way for {seconds:.1f} s"
