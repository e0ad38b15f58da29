"""What tests of `deploy --from` share: what was archived, asking for a past, and the state of an
app that ran all the time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lockstep.archive.naming import Logs
from lockstep.archive.place import Place
from lockstep.archive.reading import InputReader
from lockstep.events.codec import EncodedEntry
from lockstep.execute.local import open_local
from lockstep.execute.sends import SendMemory
from lockstep.execute.sieve import sieve
from lockstep.plan import plan_of
from lockstep_services.processor.state.envelope import unseal
from tests.integration.services.cluster import Cluster, log_of, revisions_of, until

NODES = ("coordinator", "processor-1", "processor-2", "receiver", "publisher")
ALONE = ("coordinator", "processor-1", "receiver", "publisher")


def archived(tmp_path: Path) -> dict[str, str]:
    """Settings of a cluster that archives all, often, and trims its logs behind that."""
    return {
        "LOCKSTEP_ARCHIVE__FOLDER": str(tmp_path / "archive"),
        "LOCKSTEP_ARCHIVE__BY_DEFAULT": "true",
        "LOCKSTEP_ARCHIVE__INTERVAL_MS": "100",
    }


async def feed(cluster: Cluster, app: str, first: int, count: int) -> None:
    """Events of ascending values, three to a send."""
    for v in range(first, first + count, 3):
        rows = [{"k": f"k{i % 5}", "v": i} for i in range(v, min(v + 3, first + count))]
        await cluster.send(app, "In", rows)


async def in_archive(cluster: Cluster, app: str) -> int:
    """Waits until the archive has all that came in; up to which position."""
    _, end = await (
        await cluster.watcher.bus.input_log(await log_of(cluster.watcher, app))
    ).bounds()

    async def there() -> bool:
        sinks = (await cluster.status(app))["sinks"]
        return any(one["sink"] == "archive.input" and one["sequence"] >= end for one in sinks)

    await until(there, f"the archive of {app} at {end}")
    return end


async def trimmed(cluster: Cluster, app: str) -> int:
    """The log forgets what it has now, as it does when revisions allow it; where it begins then."""
    end = await in_archive(cluster, app)
    log = await cluster.watcher.bus.input_log(await log_of(cluster.watcher, app))
    await log.trim(end - 2)
    return end - 1


async def deploy_from(cluster: Cluster, text: str, from_ms: int = 0, **more: Any) -> Any:
    """The answer to a deployment that begins with the past."""
    body = {"text": text, "past": {"from_ms": from_ms, **more}}
    status, answer = await cluster.asked("PUT", "/v1/apps", json=body)
    assert status in (200, 201), answer
    return answer


async def done(cluster: Cluster, app: str) -> Any:
    """How far the past is, once it is done or has failed."""
    found: Any = None

    async def there() -> Any:
        nonlocal found
        _, found = await cluster.asked("GET", f"/v1/apps/{app}/past")
        return found if found.get("phase") in ("done", "failed") else None

    return await until(there, f"the past of {app}", seen=lambda: found)


async def all_records(cluster: Cluster, app: str, place: Place) -> list[EncodedEntry]:
    """Everything that ever came in: from the archive, then from the log."""
    end = await in_archive(cluster, app)
    name = await log_of(cluster.watcher, app)
    reader = InputReader(place, Logs(app, name.since_ms))
    found = [one.entry for each in reader.slices(reader.bounds()) for one in each]
    assert [one.position for one in found] == list(range(1, end + 1))
    return found


def ran_all_the_time(
    text: str, entries: Sequence[EncodedEntry], up_to: int, *, columnar: bool = False
) -> bytes:
    """The state of an app that has folded all of it, from the first record on, by the reference, or
    in columns as on Spark: they write the same state with other bytes."""
    plan = plan_of(text)
    executor = open_local(plan, columnar=columnar)
    folded = [one for one in entries if one.position <= up_to]
    executor.run_encoded(sieve(folded, plan.schemas, SendMemory(1_000)).entries)
    return executor.snapshot()


async def state_of(cluster: Cluster, app: str) -> tuple[int, bytes]:
    """The position and the snapshot of a revision that is taken now."""
    taken = await cluster.snapshot(app)
    (revision,) = [r for r in await revisions_of(cluster.watcher, app) if r.id == taken]
    contents = unseal(await cluster.watcher.store.revisions.load(taken))
    return revision.position, bytes(contents.snapshot)
