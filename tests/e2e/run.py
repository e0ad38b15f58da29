"""Separate processes, real input: the active processor is killed three times, nothing is lost or
doubled.

`python -m tests.e2e.run` starts one process per service and two processors, replays the flights
through the receiver in four legs, and kills the active processor with SIGKILL in the middle of each
of the first three, starting it again as a standby each time. Then everything published, and the
sink's table, is compared with the independent answers. With `--tls` all doors and servers speak TLS
and ask for certificates.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lockstep.bus import OutputLog, OutputTail
from lockstep.cli.client import Client
from lockstep.cli.demo.answers import expected_answers, mismatches
from lockstep.cli.demo.feed import Fed, TimedEvent, feed
from lockstep.cli.demo.flights import Flights, load_flights, merged
from lockstep.cli.demo.published import read_published
from lockstep.cli.demo.runner import FLIGHTS, STREAM_ANSWERS, TABLE_COLUMNS, app_text
from lockstep.cli.processes import ProcessSuite, ServiceProcess
from lockstep.cli.replay import send_retrying
from lockstep.clock import SystemClock
from lockstep.events import OutputRecord
from lockstep.frame import World
from lockstep.store.postgres import read_rows
from tests.e2e.harness import Way, replicas_of, tried

CLOCK = SystemClock()
KILLS = 3
LEGS = KILLS + 1
POLL_MS = 50
TAIL_POLL_MS = 10
READ_RECORDS = 100
READ_BYTES = 10_000_000
PHASE_TIMEOUT_MS = 300_000
UNCHANGED_MS = 60_000


@dataclass(slots=True)
class Story:
    """What happened: kills, and how long nobody published after each."""

    kills: int = 0
    failover_ms: list[int] = field(default_factory=list)


async def main(limit: int | None, way: Way) -> int:
    """Runs it; gives the exit code."""
    flights = load_flights(limit=limit)

    async def trial(suite: ProcessSuite, world: World) -> bool:
        async with Client(suite.addresses) as client:
            log = await deployed(client, world)
            story = await fly(suite, client, log, flights)
        return await _judge(suite, log, flights, story)

    return await tried("e2e", trial, way)


async def deployed(client: Client, world: World) -> OutputLog:
    """The app on two ready replicas, and its log, which is there since one of them leads."""
    await send_retrying(lambda: client.deploy(app_text("flights")))
    await _until(client, lambda rs: len(rs) == 2 and _active(rs) and all(r["ready"] for r in rs))
    return await world.bus.output_log(max(await world.bus.logs(FLIGHTS)))


async def fly(suite: ProcessSuite, client: Client, log: OutputLog, flights: Flights) -> Story:
    """All of them, in legs; in each but the last one the leader is killed."""
    events = merged(flights)
    total = flights.departures.num_rows + flights.weather.num_rows
    story = Story()
    last_position = 0
    for leg in range(LEGS):
        share = list(itertools.islice(events, total // LEGS + 1))
        killed = asyncio.Event()
        feeding = asyncio.create_task(_feed(client, share, leg, killed))
        if leg < KILLS:
            await _well_under_way(client, last_position)
            await _kill_active(suite, client, log, story, killed)
        killed.set()
        last_position = (await feeding).last_position
    await _until(client, lambda rs: any(r["settled"] >= last_position for r in rs))
    return story


async def _feed(client: Client, events: list[TimedEvent], leg: int, killed: asyncio.Event) -> Fed:
    """The last part comes behind the kill, however late that is: then the next leader has something
    to publish, and that it does can be seen."""
    last = len(events) * 3 // 4
    await _feed_part(client, events[:last], f"e2e-{leg}")
    await killed.wait()
    return await _feed_part(client, events[last:], f"e2e-{leg}-last")


async def _feed_part(client: Client, events: list[TimedEvent], key: str) -> Fed:
    return await feed(client, FLIGHTS, events, key=key, advance=lambda _: None, batch_events=2_000)


async def _well_under_way(client: Client, before: int) -> None:
    """Until outputs of this leg are being published: some of it is still to come then."""
    await _until(client, lambda rs: any(r["settled"] > before for r in rs))


async def _kill_active(
    suite: ProcessSuite, client: Client, log: OutputLog, story: Story, killed: asyncio.Event
) -> None:
    replicas = await _until(
        client, lambda rs: len(rs) == 2 and _active(rs) and all(r["ready"] for r in rs)
    )
    victim = suite.processes[_active(replicas)["node"]]
    before = await log.tail()
    killed_at_ms = CLOCK.monotonic_ms()
    await victim.kill()
    killed.set()
    story.kills += 1
    await _published_again(log, before)
    took_ms = CLOCK.monotonic_ms() - killed_at_ms
    story.failover_ms.append(took_ms)
    print(f"e2e: killed {victim.node}, the other one published after {took_ms} ms")
    await _standing_by(victim, client)


async def _published_again(log: OutputLog, before: OutputTail) -> None:
    """Until a leader of a later epoch has appended a row."""
    after = before.sequence
    deadline_ms = CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
    while CLOCK.monotonic_ms() < deadline_ms:
        entries = await log.read(
            after, max_records=READ_RECORDS, max_bytes=READ_BYTES, wait_ms=TAIL_POLL_MS
        )
        for entry in entries:
            if isinstance(entry.record, OutputRecord) and entry.record.epoch > before.epoch:
                return
            after = entry.sequence
    raise TimeoutError("nobody published after the active processor was killed")


async def _standing_by(victim: ServiceProcess, client: Client) -> None:
    victim.start()
    await _until(
        client,
        lambda rs: any(
            r["node"] == victim.node and r["role"] != "active" and r["ready"] for r in rs
        ),
    )


def _active(replicas: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return next((r for r in replicas if r["role"] == "active"), {})


async def _until(client: Client, reached: Any) -> list[dict[str, Any]]:
    deadline_ms = CLOCK.monotonic_ms() + PHASE_TIMEOUT_MS
    replicas: list[dict[str, Any]] = []
    while CLOCK.monotonic_ms() < deadline_ms:
        replicas = await replicas_of(client, FLIGHTS)
        if reached(replicas):
            return replicas
        await CLOCK.sleep_ms(POLL_MS)
    raise TimeoutError(f"the replicas did not get there: {replicas}")


async def _judge(suite: ProcessSuite, log: OutputLog, flights: Flights, story: Story) -> bool:
    expected = expected_answers(flights)
    async with asyncio.timeout(PHASE_TIMEOUT_MS / 1000):
        published = await read_published(log)
    dsn = suite.settings.store.postgres_dsn.get_secret_value()
    table = await _delivered(dsn, expected["OriginToday"])
    wrong = mismatches(expected["OriginToday"], table)
    lost, found, wanted = 0, 0, 0
    for name in STREAM_ANSWERS:
        differences = mismatches(expected[name], published.rows[name])
        wrong += differences
        lost += max(0, len(expected[name]) - len(published.rows[name]))
        wanted += len(expected[name])
        found += len(published.rows[name])
    for line in wrong[:10]:
        print(f"e2e: {line}")
    duplicated = published.duplicated + published.out_of_order
    ok = not (wrong or lost or duplicated) and story.kills == KILLS
    print(
        f"e2e: {'ok' if ok else 'FAILED'} kills={story.kills} expected={wanted} published={found} "
        f"lost={lost} duplicated={duplicated} failover_ms_max={max(story.failover_ms)}"
    )
    return ok


async def _delivered(dsn: str, expected: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The sink's table once it equals the answer, or as it stands after a while without change."""
    rows: list[tuple[Any, ...]] = []
    changed_ms = CLOCK.monotonic_ms()
    while True:
        before, rows = rows, await read_rows(dsn, "origin_today", TABLE_COLUMNS)
        if not mismatches(expected, rows):
            return rows
        if rows != before:
            changed_ms = CLOCK.monotonic_ms()
        if CLOCK.monotonic_ms() - changed_ms > UNCHANGED_MS:
            return rows
        await CLOCK.sleep_ms(POLL_MS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="only the first departures")
    parser.add_argument("--tls", action="store_true", help="everywhere, with certificates; NATS")
    Way.ask(parser)
    options = parser.parse_args()
    if options.tls and options.bus != "nats":
        parser.error("--tls is for NATS")
    sys.exit(asyncio.run(main(options.limit, replace(Way.of(options), tls=options.tls))))
