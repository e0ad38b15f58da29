"""Apps in one processor: a heavy one and one that fails again and again stop nobody else."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from lockstep.events.codec import EventsHeader
from lockstep.execute.contract import Executor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import Context, Service, SharedThreads, ThreadOffload
from lockstep.plan import AppPlan
from lockstep.telemetry import Logger
from lockstep_services.processor import runner
from lockstep_services.processor.wiring import Processor
from tests.integration.services import cluster as harness
from tests.integration.services.cluster import STEADY, Cluster, until
from tests.integration.services.conftest import Start
from tests.integration.services.test_processor import COUNT, expected, feed

NODES = ("coordinator", "processor-1", "receiver")
HEAVY = """
@app:name('Heavy')
define function work[python] return long { return sum(i for i in range(data[0])) };
define stream In (n long);
from In select work(n) as total insert into Out;
"""
BROKEN = "@app:name('FailsAlways') define stream In (v int); from In select v insert into Out;"


async def replica(cluster: Cluster, app: str) -> dict[str, Any]:
    """The status of an app's only replica."""

    async def heard_of() -> Any:
        found = (await cluster.status(app))["replicas"]
        return found[0] if found else None

    found: dict[str, Any] = await until(heard_of, f"a replica of {app}")
    return found


async def test_a_heavy_app_takes_short_turns_beside_its_neighbours(cluster_of: Start) -> None:
    """While it is far behind, a neighbour's rows are published, under the same leader; its slow
    slices show, and it comes on.
    """
    limits = {
        "LOCKSTEP_PROCESSOR__SLICE_TARGET_MS": "50",
        "LOCKSTEP_PROCESSOR__SLICE_SLOW_MS": "20",
    }
    async with cluster_of(*NODES, **STEADY, **limits) as cluster:
        heavy = await cluster.deploy(HEAVY)
        light = await cluster.deploy(COUNT.format(name="Light"))
        before = (await replica(cluster, light))["epoch"]
        # A record each, of much more work than it takes to send it.
        keys = [{"Idempotency-Key": f"h{i}"} for i in range(30)]
        load = [{"n": 500_000}] * 10
        await asyncio.gather(*(cluster.send(heavy, "In", load, **key) for key in keys))
        await feed(cluster, light, 0, 10)
        rows = await cluster.published_count(light, 10)
        assert [row.data for row in rows] == expected(10)

        async def behind() -> bool:
            return int((await replica(cluster, heavy))["lag"]) > 0

        await until(behind, "the heavy app's lag in the status")
        assert (await replica(cluster, light))["epoch"] == before

        async def shown() -> Any:
            trouble = (await replica(cluster, heavy))["trouble"]
            return "the slice behind position" in (trouble or "")

        await until(shown, "the slow slice in the status")
        assert await cluster.published_count(heavy, 1)


async def test_an_app_whose_executor_fails_stops_nobody(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins again with growing pauses; its neighbour neither waits nor changes its leader."""
    failures = 0

    class Failing(ReferenceExecutor):
        """Dies of its first slice."""

        def run_encoded(self, entries: Any) -> Any:
            nonlocal failures
            failures += 1
            raise RuntimeError("broken on purpose")

    def make(plan: AppPlan, _log: Logger) -> Executor:
        return Failing(plan) if "FailsAlways" in plan.text else ReferenceExecutor(plan)

    def wire(context: Context) -> Service:
        return Processor(context, make, ThreadOffload)

    monkeypatch.setattr(harness, "WIRES", {**harness.WIRES, "processor": wire})
    async with cluster_of(*NODES, **STEADY) as cluster:
        light = await cluster.deploy(COUNT.format(name="Beside"))
        before = (await replica(cluster, light))["epoch"]
        status, answer = await cluster.call("PUT", "coordinator", "/v1/apps", json={"text": BROKEN})
        assert status == 201, answer
        await feed(cluster, light, 0, 20)

        async def failed_often() -> Any:
            return failures >= 3

        await until(failed_often, "three failures of the broken app")
        await feed(cluster, light, 20, 20)
        rows = await cluster.published_count(light, 40)
        assert [row.data for row in rows] == expected(40)
        assert (await replica(cluster, light))["epoch"] == before


async def test_an_app_whose_slice_does_not_end_goes_without_its_neighbours(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is undeployed, and others are carried in its place. What its slice gives later is not
    published before somebody folds it again."""
    may_end, threads = threading.Event(), SharedThreads(8)
    slices: list[str] = []

    class Stuck(ReferenceExecutor):
        """A function of it does not return."""

        def run_encoded(self, entries: Any) -> Any:
            if any(isinstance(each.header, EventsHeader) for each in entries):
                slices.append("begun")
                may_end.wait()
                slices.append("ended")
            return super().run_encoded(entries)

    def make(plan: AppPlan, _log: Logger) -> Executor:
        return Stuck(plan) if "DoesNotEnd" in plan.text else ReferenceExecutor(plan)

    def wire(context: Context) -> Service:
        return Processor(context, make, threads.offload)

    async def seen(number: int) -> None:
        async def there() -> bool:
            return len(slices) >= number

        await until(there, f"{number} beginnings and ends of slices")

    monkeypatch.setattr(harness, "WIRES", {**harness.WIRES, "processor": wire})
    monkeypatch.setattr(runner, "FLUSH_LIMIT_MS", 1_000)
    async with cluster_of(*NODES, **STEADY) as cluster:
        try:
            stuck = await cluster.deploy(COUNT.format(name="DoesNotEnd"))
            await feed(cluster, stuck, 0, 1)
            await seen(1)
            status, answer = await cluster.call("DELETE", "coordinator", f"/v1/apps/{stuck}")
            assert status == 200, answer
            light = await cluster.deploy(COUNT.format(name="InItsPlace"))
            await feed(cluster, light, 0, 10)
            rows = await cluster.published_count(light, 10)
            assert [row.data for row in rows] == expected(10)
            assert slices == ["begun"]
        finally:
            may_end.set()
        said = [one for one in capsys.readouterr().err.splitlines() if "middle of a slice" in one]
        assert len(said) == 1
        assert stuck in said[0]
        await seen(2)
        assert await cluster.published(stuck) == []
        assert await cluster.deploy(COUNT.format(name="DoesNotEnd")) == stuck
        await feed(cluster, stuck, 1, 9)
        rows = await cluster.published_count(stuck, 10)
        assert [row.data for row in rows] == expected(10)
