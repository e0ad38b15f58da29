"""A processor that is behind its log says what it folds next."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.frame import Context, Service, ThreadOffload
from lockstep_services.processor.wiring import Processor
from tests.integration.services import cluster as harness
from tests.integration.services.cluster import STEADY
from tests.integration.services.conftest import Start

NODES = ("coordinator", "processor-1", "receiver")
APP = "@app:name('Announcing') define stream In (v int); from In select v insert into Out;"
SLICE_EVENTS = 4
RECORDS, EVENTS = 9, 2
WAIT_S = 60.0


async def test_what_is_announced_is_folded_next(
    cluster_of: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the first record is folded, the others come: from then on each slice is announced
    while the one in front of it is folded."""
    may_fold = threading.Event()
    announced: list[list[int]] = []
    folded: list[list[int]] = []

    class Watched(ReferenceExecutor):
        """Tells what it hears, and waits until it may fold."""

        def expect(self, entries: Any) -> None:
            announced.append([entry.position for entry in entries])

        def run_encoded(self, entries: Any) -> Any:
            folded.append([entry.position for entry in entries])
            if any(entry.streams for entry in entries):
                may_fold.wait(WAIT_S)
            return super().run_encoded(entries)

    def wire(context: Context) -> Service:
        return Processor(context, lambda plan, _: Watched(plan), ThreadOffload)

    monkeypatch.setattr(harness, "WIRES", {**harness.WIRES, "processor": wire})
    limits = {"LOCKSTEP_PROCESSOR__SLICE_MAX_EVENTS": str(SLICE_EVENTS)}
    async with cluster_of(*NODES, **STEADY, **limits) as cluster:
        app = await cluster.deploy(APP)
        for record in range(RECORDS):
            values = range(EVENTS * record, EVENTS * (record + 1))
            key = {"Idempotency-Key": f"r{record}"}
            await cluster.send(app, "In", [{"v": value} for value in values], **key)
        may_fold.set()
        rows = await cluster.published_count(app, RECORDS * EVENTS)
    assert [row.data for row in rows] == [(value,) for value in range(RECORDS * EVENTS)]
    assert len(announced) == len(folded)
    kept = [(said, came) for said, came in zip(announced, folded[1:], strict=False) if said]
    assert len(kept) >= 2
    assert all(said == came for said, came in kept)
