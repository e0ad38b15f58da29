"""One app from its deployment to what stands at its sinks."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from redis.asyncio import Redis

from lockstep.cli.client import Client
from lockstep.clock import SystemClock
from lockstep.events import AttributeType, LockstepError, StreamSchema
from lockstep.plan import plan_of
from lockstep.schemas.registry import SchemaRegistry
from lockstep.siddhiql import CheckedApp, ast, check
from lockstep.telemetry import get_logger
from tests.older_apps.playing.choosing import Chosen, goals
from tests.older_apps.playing.doors import COMMON_PATIENCE_S, PATIENCE_S, Doors
from tests.older_apps.playing.inventing import Step
from tests.older_apps.playing.judging import Judge, message_difference
from tests.older_apps.playing.outlets import Outlets
from tests.older_apps.playing.repointing import Change, Repointed, Repointer
from tests.older_apps.playing.stage import Stage
from tests.older_apps.playing.statements import asking, statements_difference

READY_MS: Final = 60_000
POLL_MS: Final = 50
SETTLE_S: Final = 20.0
MAIL_S: Final = 45.0
PATIENT_S: Final = 30.0
READ: Final[Mapping[AttributeType, Callable[[str], object]]] = {
    AttributeType.STRING: str, AttributeType.INT: int, AttributeType.LONG: int,
    AttributeType.FLOAT: float, AttributeType.DOUBLE: float,
    AttributeType.BOOL: "true".__eq__, AttributeType.OBJECT: str,
}  # fmt: skip
QUIET_LOOKS: Final = 3
FIRST_TRIES: Final = 8
POLL_S: Final = 0.05


class Fate(StrEnum):
    """What became of an app."""

    PLAYED = "played"
    SILENT = "silent"
    DIFFERS = "differs"
    NOT_PLAYED = "not played"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A valid app with the events that were chosen for it."""

    number: int
    path: str
    checked: CheckedApp
    chosen: Chosen

    @property
    def mark(self) -> str:
        """Of its own among all addresses."""
        return f"a{self.number}"


@dataclass
class Outcome:
    """Of one app. `rows`: by type of sink, how many messages came out."""

    candidate: Candidate
    fate: Fate = Fate.NOT_PLAYED
    why: str = ""
    doors: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    events: int = 0
    changes: list[Change] = field(default_factory=list)
    seconds: float = 0.0


class Player:
    """Plays one app on a stage."""

    def __init__(self, stage: Stage, candidate: Candidate) -> None:
        self._stage = stage
        self._candidate = candidate
        self.outcome = Outcome(candidate)
        self._repointed = Repointed(candidate.checked.text)
        self._troubles: list[str] = []

    async def play(self) -> Outcome:
        """Never raises for what an app does."""
        began = time.monotonic()
        try:
            await self._play()
        except Exception as error:  # noqa: BLE001
            # One app must not end the others.
            self.outcome.fate = Fate.NOT_PLAYED
            self.outcome.why = f"{type(error).__name__}: {error}"
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    async def _play(self) -> None:
        mark, stage = self._candidate.mark, self._stage
        one = Repointer(self._candidate.checked, stage.places, self._candidate.number, stage.ports)
        self._repointed = one.done()
        self.outcome.changes = self._repointed.changes
        if self._repointed.lacking:
            self.outcome.why = f"there is no {', no '.join(dict.fromkeys(self._repointed.lacking))}"
            return
        checked = check(self._repointed.text)
        self.doors = Doors(stage, checked, self._repointed, mark)
        self.outlets = Outlets(stage, checked, self._repointed, mark)
        self.outcome.doors = self.doors.kinds or ["suite"]
        if self.outlets.unknown:
            self.outcome.why = f"nobody looks behind a sink of type {self.outlets.unknown}"
            return
        await self.doors.prepare()
        await self.outlets.begin()
        await patiently(lambda: stage.client.deploy(self._repointed.text))
        try:
            await self._deployed(checked)
        finally:
            await self.doors.close()
            await self.outlets.end()
            await removed(stage.client, checked.name)

    async def _deployed(self, checked: CheckedApp) -> None:
        client = self._stage.client
        ready = await client.replicas(
            checked.name,
            lambda each: bool(each["ready"]) and each["role"] == "active",
            count=1,
            limit_ms=READY_MS,
            poll_ms=POLL_MS,
        )
        if not ready:
            self.outcome.why = "no processor leads it"
            return
        bus = self._stage.world.bus
        log = max(await bus.logs(checked.name))
        plan = plan_of(self._repointed.text)
        judge = Judge(plan, await bus.input_log(log), await bus.output_log(log))
        await judge.bring(SchemaRegistry(SystemClock(), get_logger()))
        for step in self._candidate.chosen.steps:
            await self._sent(step, judge)
            if not judge.events and not step.write and self.doors.kind(step.stream) != "email":
                break  # nothing comes in by this door, however often
        await asyncio.sleep(self._candidate.chosen.pause_ms / 1000)
        await self._settled(judge, checked)
        self.outcome.events = judge.events

    async def _sent(self, step: Step, judge: Judge) -> None:
        """In the log when it returns, unless it takes too long; the first ones of a source may be
        sent before somebody listens."""
        if step.pause_ms:
            await asyncio.sleep(step.pause_ms / 1000)
        kind = self.doors.kind(step.stream)
        before = judge.events
        tries = FIRST_TRIES if not before else 1
        for turn in range(tries):
            try:
                await self.doors.send(step)
            except OSError:
                if turn == tries - 1:
                    raise
                await asyncio.sleep(0.5)
                continue
            patience_s = PATIENCE_S.get(kind, COMMON_PATIENCE_S)
            deadline_s = time.monotonic() + patience_s
            while time.monotonic() < deadline_s:
                await judge.follow()
                if judge.events > before or step.write:
                    return
                await asyncio.sleep(POLL_S / 2)
            if kind == "email" or step.write:
                return

    async def _settled(self, judge: Judge, checked: CheckedApp) -> None:
        """Until what came out is what the reference says, or nothing moves any more."""
        slow = "email" in self.outcome.doors
        deadline_s = time.monotonic() + (MAIL_S if slow else SETTLE_S)
        quiet = 0
        while time.monotonic() < deadline_s:
            await judge.follow()
            is_same = await self._look(judge, checked)
            came = judge.events or all(step.write for step in self._candidate.chosen.steps)
            moved = bool(self.outcome.rows) or (came and not judge.expected)
            quiet = quiet + 1 if is_same and moved else 0
            if quiet >= QUIET_LOOKS:
                break
            await asyncio.sleep(POLL_S * 4)
        letters = await self._stage.world.bus.dead_letters.read(checked.name, max_records=1)
        sinks = (await self._stage.client.status(checked.name))["sinks"]
        self._troubles = [f"{each['sink']}: {each['trouble']}" for each in sinks if each["trouble"]]
        self._say(judge, [f"{each.letter.stream}: {each.letter.reason}" for each in letters])

    async def _look(self, judge: Judge, checked: CheckedApp) -> bool:
        """Whether all that should be there is; `why` is what is not."""
        differences = [judge.log_difference()]
        rows: Counter[str] = Counter()
        for kind, expected in judge.messages.items():
            arrived = await self.outlets.arrived(kind)
            lines = [line for each in expected for line in each.splitlines()]
            wanted = lines if kind == "file" else expected
            difference = message_difference(wanted, arrived)
            differences.append(f"{kind}: {difference}" if difference else None)
            rows[kind] += len(arrived)
        if asking(checked):
            mark = self._candidate.mark
            difference, count = await statements_difference(self._stage, mark, checked, judge)
            differences.append(f"statements: {difference}" if difference else None)
            rows["statements"] += count
        for name, difference, count in await self._tables(judge, checked):
            differences.append(f"{name}: {difference}" if difference else None)
            rows["table"] += count
        if not judge.sinks and not rows:
            rows["presenter"] += await self._shown(judge)
        self.outcome.rows = +rows
        found = [each for each in differences if each]
        self.outcome.why = "; ".join(found)
        return not found

    async def _tables(self, judge: Judge, checked: CheckedApp) -> list[tuple[str, str | None, int]]:
        """Stored tables: what is in the database, and what the reference holds."""
        found: list[tuple[str, str | None, int]] = []
        followed = {each.name for each in checked.external}
        for name, table in checked.tables.items():
            store = next((one for one in table.annotations if one.name.lower() == "store"), None)
            if store is None or name in followed:
                continue
            held = judge.reference.on_demand(f"from {name} select *")
            try:
                there = await self._rows(name, checked.schemas[name], store)
            except Exception as error:  # noqa: BLE001
                found.append((name, str(error), 0))
                continue
            difference = message_difference(list(map(_cells, held)), list(map(_cells, there)))
            found.append((name, difference, len(there)))
        return found

    async def _rows(
        self, name: str, schema: StreamSchema, store: ast.Annotation
    ) -> Sequence[tuple[object, ...]]:
        """Of a stored table, where it is stored."""
        if (store.get("type") or "").lower() == "redis":
            return await redis_rows(self._stage, schema, store.get("table.name") or name)
        columns = ", ".join(f"`{each}`" for each in schema.names)
        database = "test" if store.get("datasource") else self._candidate.mark
        return await self._stage.asked(
            database, f"SELECT {columns} FROM {store.get('table.name') or name}"
        )

    async def _shown(self, judge: Judge) -> int:
        """Rows at the presenter, of an app without sinks; of its tables in memory, by a query."""
        client, name = self._stage.client, judge.plan.checked.name
        count = 0
        for stream in judge.plan.exported:
            url = f"{client.addresses.presenter}/v1/apps/{name}/streams/{stream}/latest"
            count += (await client.request("GET", url))["total"]
        for table in goals(judge.plan.checked) & judge.plan.checked.tables.keys():
            url = f"{client.addresses.presenter}/v1/apps/{name}/query"
            body = {"query": f"from {table} select *"}
            count += len((await client.request("POST", url, json_body=body))["records"])
        return count

    def _say(self, judge: Judge, letters: Sequence[str]) -> None:
        outcome = self.outcome
        if outcome.why:
            outcome.fate = Fate.DIFFERS
            outcome.why += f"; dead letter: {letters[0]}" if letters else ""
            return
        if outcome.rows:
            outcome.fate = Fate.PLAYED
            return
        outcome.fate = Fate.SILENT
        needs_ms = self._candidate.chosen.needs_ms
        if not judge.events:
            outcome.why = "no event came in"
        elif self._troubles:
            outcome.why = self._troubles[0]
        elif letters or judge.faults:
            outcome.why = f"dead letter: {[*letters, *judge.faults][0]}"
        elif needs_ms:
            outcome.why = f"a row comes after {needs_ms // 1000} s"
        else:
            outcome.why = "no event that was drawn brings a row"


async def redis_rows(stage: Stage, schema: StreamSchema, table: str) -> list[tuple[object, ...]]:
    """Each a hash of texts, as Java writes values."""
    server = stage.places.redis
    assert server is not None
    client: Any = Redis(
        host=server.host, port=server.port, password=server.password, decode_responses=True
    )
    found: list[tuple[object, ...]] = []
    async with client:
        async for key in client.scan_iter(f"{table}:*"):
            texts = await client.hmget(key, *schema.names)
            pairs = zip(texts, schema.types, strict=True)
            found.append(tuple(None if text is None else READ[kind](text) for text, kind in pairs))
    return found


def _cells(row: object) -> bytes:
    cells = list(row) if isinstance(row, list | tuple) else [row]
    return repr([round(float(one), 3) if isinstance(one, int | float) else one for one in cells]
    ).encode()  # fmt: skip


async def removed(client: Client, name: str) -> None:
    """Undeployed, and its logs forgotten."""
    url = f"{client.addresses.coordinator}/v1/apps/{name}?purge=true"
    await patiently(lambda: client.request("DELETE", url))


async def patiently(ask: Callable[[], Awaitable[object]]) -> None:
    """Again where that is what the answer wants: on a busy machine a coordinator may have no lead
    for a moment."""
    deadline_s = time.monotonic() + PATIENT_S
    while True:
        try:
            await ask()
            return
        except LockstepError as error:
            if not error.retryable or time.monotonic() > deadline_s:
                raise
        await asyncio.sleep(POLL_S * 10)
