"""What a fault does to a running cluster, and how it ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from lockstep.events import LockstepError
from lockstep.store import Revision
from tests.simulation.cluster import Cluster
from tests.simulation.leases import LEASES
from tests.simulation.scenario import SERVERS, Fault

Befall = Callable[[Cluster, Fault], Awaitable[None]]

SLOWER: Final = 40.0
STOP_LIMIT_MS: Final = 5_000


async def befall(cluster: Cluster, fault: Fault) -> None:
    """From its beginning to its end."""
    await cluster.sleep_until(fault.at_ms)
    cluster.story.tell("FAULT", str(fault))
    await _KINDS[fault.kind](cluster, fault)


async def _crash(cluster: Cluster, fault: Fault) -> None:
    if cluster.crash(fault.target):
        await cluster.sleep_ms(fault.for_ms)
        cluster.start(fault.target)


async def _crash_all(cluster: Cluster, fault: Fault) -> None:
    for server in SERVERS:
        cluster.network.server(server).down += 1
    _close_connections(cluster)
    gone = [name for name in cluster.names if cluster.crash(name)]
    if fault.detail == "flush":
        cluster.around.table.flush()
    await cluster.sleep_ms(fault.for_ms)
    for server in SERVERS:
        cluster.network.server(server).down -= 1
    for name in gone:
        cluster.start(name)


async def _restart(cluster: Cluster, fault: Fault) -> None:
    node = cluster.node(fault.target)
    if node is None:
        return
    cluster.leaving.add(fault.target)
    stopping = node.stop()
    for _ in range(STOP_LIMIT_MS // 50):
        if stopping.done() or not node.lives:
            break
        await cluster.sleep_ms(50)
    cluster.leaving.discard(fault.target)
    if cluster.crash(fault.target, quietly=True):
        await cluster.sleep_ms(100)
        cluster.start(fault.target)


async def _pause(cluster: Cluster, fault: Fault) -> None:
    node = cluster.node(fault.target)
    if node is None or node.host.paused:
        return
    node.host.paused = True
    await cluster.sleep_ms(fault.for_ms)
    if node.lives:
        cluster.loop.resume(node.host)
        cluster.story.tell("FAULT", f"resumed {fault.target}")


async def _slow(cluster: Cluster, fault: Fault) -> None:
    node = cluster.node(fault.target)
    if node is not None:
        node.pace.factor = SLOWER
        await cluster.sleep_ms(fault.for_ms)
        node.pace.factor = 1.0


async def _skew(cluster: Cluster, fault: Fault) -> None:
    node = cluster.node(fault.target)
    if node is not None:
        node.clock.skew_ms = cluster.skews_ms[fault.target] = int(fault.detail)


async def _cut(cluster: Cluster, fault: Fault) -> None:
    host, _, server = fault.target.partition("/")
    way = cluster.network.way(host, server)
    to, back = fault.kind != "cut_back", fault.kind != "cut_to"
    way.cut_to += to
    way.cut_back += back
    await cluster.sleep_ms(fault.for_ms)
    way.cut_to -= to
    way.cut_back -= back


async def _isolate(cluster: Cluster, fault: Fault) -> None:
    """From every server, so that it can do nothing but wait."""
    ways = [cluster.network.way(fault.target, server) for server in SERVERS]
    for way in ways:
        way.cut_to += 1
        way.cut_back += 1
    await cluster.sleep_ms(fault.for_ms)
    for way in ways:
        way.cut_to -= 1
        way.cut_back -= 1


async def _lossy(cluster: Cluster, fault: Fault) -> None:
    host, _, server = fault.target.partition("/")
    way = cluster.network.way(host, server)
    way.lossy = float(fault.detail)
    await cluster.sleep_ms(fault.for_ms)
    way.lossy = 0.0


async def _down(cluster: Cluster, fault: Fault) -> None:
    server = cluster.network.server(fault.target)
    server.down += 1
    if fault.target == LEASES:
        _close_connections(cluster)
    await cluster.sleep_ms(fault.for_ms)
    server.down -= 1


def _close_connections(cluster: Cluster) -> None:
    for process in list(cluster.around.table.connections):
        cluster.around.table.hang_up(process)


async def _hang_up(cluster: Cluster, fault: Fault) -> None:
    """The lease server takes a connection for closed; the process hears of it later."""
    node = cluster.node(fault.target)
    if node is None:
        return
    closed = cluster.around.table.connections.pop(node.process_id, None)
    await cluster.sleep_ms(fault.for_ms)
    if closed is not None and not closed.done():
        closed.set_result(None)


async def _flush_leases(cluster: Cluster, _fault: Fault) -> None:
    cluster.around.table.flush()


async def _lease_clock(cluster: Cluster, fault: Fault) -> None:
    cluster.lease_clock.ahead_ms += int(fault.detail)


async def _full_disk(cluster: Cluster, fault: Fault) -> None:
    disk = cluster.around.store.disk
    disk.full += 1
    await cluster.sleep_ms(fault.for_ms)
    disk.full -= 1


async def _torn_write(cluster: Cluster, _fault: Fault) -> None:
    cluster.around.store.disk.torn_writes += 1


async def _rotten_revision(cluster: Cluster, _fault: Fault) -> None:
    """The newest counting revision cannot be read any more; only if an older one is left."""
    shelf = cluster.around.store.shelf
    counting = sorted(
        (revision.position, key) for key, (revision, _) in shelf.revisions.items()
        if revision.verified
    )  # fmt: skip
    stamps = {shelf.revisions[key][0].life for _, key in counting}
    places = [_place(shelf.revisions[key][0]) for _, key in counting]
    if places and places.count(places[-1]) > 1 and len(stamps) == 1:
        key = counting[-1][1]
        revision, state = shelf.revisions[key]
        shelf.revisions[key] = (revision, state[: len(state) // 2])
        cluster.around.store.archive.taken[key].unusable_ms = cluster.loop.now_ms


def _place(revision: Revision) -> tuple[str, int]:
    return revision.group, revision.partition


async def _redeliver(cluster: Cluster, _fault: Fault) -> None:
    cluster.around.carrier.ingress_due.clear()


async def _handover(cluster: Cluster, _fault: Fault) -> None:
    await _ask(cluster, f"/v1/apps/{cluster.app}/handover")


async def _snapshot(cluster: Cluster, _fault: Fault) -> None:
    await _ask(cluster, f"/v1/apps/{cluster.app}/snapshot")


async def _restore(cluster: Cluster, _fault: Fault) -> None:
    """The oldest counting revision of the deployed version; a refusal is an answer."""
    shelf = cluster.around.store.shelf
    deployed = shelf.deployments.get(cluster.app)
    counting = [
        revision for revision, _ in shelf.revisions.values()
        if revision.verified and deployed and revision.version == deployed.version
    ]  # fmt: skip
    if counting:
        oldest = min(counting, key=lambda one: (one.position, one.id))
        body = msgspec.json.encode({"revision": oldest.id})
        await _ask(cluster, f"/v1/apps/{cluster.app}/restore", body)


async def _redeploy(cluster: Cluster, fault: Fault) -> None:
    """Undeployed, with its logs or without, and deployed anew: the same text, or the next one."""
    cluster.people.undeploying += 1
    async with cluster.people.deploying():
        await cluster.people.undeploy(purge=fault.kind == "purge")
        await cluster.sleep_ms(fault.for_ms)
        versions = cluster.scenario.app.versions
        if fault.detail == "next" and cluster.deployed + 1 < len(versions):
            cluster.deployed += 1
        await cluster.people.deploy(versions[cluster.deployed])
    cluster.people.undeploying -= 1


async def _heavy(cluster: Cluster, fault: Fault) -> None:
    """Some of the next records end the worker of whoever folds them, on some nodes or on all."""
    next_one = len(cluster.input.history) + 1
    for ahead in map(int, fault.detail.split()):
        cluster.around.folds.heavy[next_one + ahead] = fault.target


async def _write(cluster: Cluster, fault: Fault) -> None:
    await cluster.people.write(fault.detail)


async def _ask(cluster: Cluster, path: str, body: bytes = b"") -> None:
    try:
        reply = await cluster.people.ask_coordinators("POST", path, body)
        cluster.story.tell("operator", f"{path}: {reply.status} {reply.body.decode()}")
    except LockstepError as error:
        cluster.story.tell("operator", f"{path}: {error}")


async def _deploy(cluster: Cluster, _fault: Fault) -> None:
    """The app's next version, once; tried until it is accepted."""
    versions = cluster.scenario.app.versions
    async with cluster.people.deploying():
        if cluster.deployed + 1 < len(versions):
            cluster.deployed += 1
            await cluster.people.deploy(versions[cluster.deployed])


async def _rescale(cluster: Cluster, fault: Fault) -> None:
    """Into another number of partitions, sometimes with the next text as well."""
    versions = cluster.scenario.app.versions
    async with cluster.people.deploying():
        cluster.parallel = int(fault.target)
        if fault.detail == "next" and cluster.deployed + 1 < len(versions):
            cluster.deployed += 1
        await cluster.people.deploy(versions[cluster.deployed])


async def _drain(cluster: Cluster, fault: Fault) -> None:
    """Its work goes elsewhere; later it may work again."""
    await cluster.people.drain(fault.target)
    await cluster.sleep_ms(fault.for_ms)
    await cluster.people.drain(fault.target, undo=True)


async def _join(cluster: Cluster, fault: Fault) -> None:
    """A node that was not there from the beginning."""
    cluster.joined += (fault.target,)
    cluster.skews_ms[fault.target] = 0
    cluster.start(fault.target)


_KINDS: Final[dict[str, Befall]] = {
    "crash": _crash, "pause": _pause, "restart": _restart, "slow": _slow, "skew": _skew,
    "cut": _cut, "cut_to": _cut, "cut_back": _cut, "lossy": _lossy,
    "isolate": _isolate,
    "down": _down, "flush_leases": _flush_leases, "lease_clock": _lease_clock,
    "full_disk": _full_disk, "torn_write": _torn_write, "rotten_revision": _rotten_revision,
    "redeliver": _redeliver, "crash_all": _crash_all, "handover": _handover,
    "snapshot": _snapshot, "deploy": _deploy, "restore": _restore, "write": _write,
    "hang_up": _hang_up, "redeploy": _redeploy, "purge": _redeploy,
    "rescale": _rescale, "heavy": _heavy, "drain": _drain, "join": _join,
}  # fmt: skip
