"""A replica's beginning: opens its logs and restores the newest revision that can be used."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.bus import LogName
from lockstep.events import LockstepError, Position
from lockstep.frame import AppView, Offload
from lockstep.operators.errors import SnapshotError
from lockstep.store import Revision
from services.processor.engine import AppEngine
from services.processor.envelope import EnvelopeError, unseal
from services.processor.origin import Fresh, Resume, Stamp, choose, is_begun, stamp_of
from services.processor.replica import Beginning, Replica, Surroundings

ORIGIN_SETTING = "origin_position"


class NoBeginningError(LockstepError):
    """Neither a revision nor the log's beginning is there: the state cannot be rebuilt."""


async def begin(
    around: Surroundings, name: LogName, view: AppView, nodes: tuple[str, ...], offload: Offload
) -> Replica:
    """A replica that stands at its beginning, folding not yet."""
    bus, store = around.world.bus, around.world.store
    input_log, output_log = await bus.input_log(name), await bus.output_log(name)
    revisions = await store.revisions.list(name.app, name.group, name.partition)
    engine, begun, is_empty = await _engine(around, view, revisions, offload)
    first, last = await input_log.bounds()
    if first > engine.position + 1 and last > 0:
        # Whatever was forgotten before was covered by a revision once: begin behind it and say so.
        around.log.error(
            "the input log begins behind the newest usable revision",
            app=name.app, first=first, position=engine.position,
        )  # fmt: skip
        if revisions:
            raise NoBeginningError(
                f"the log begins at {first}, the newest usable revision is at {engine.position}",
                where=name.app,
            )
        engine = await AppEngine.create(
            view.deployment.text, view.deployment.version, around.make_executor, offload,
            origin=first - 1, max_sends=around.settings.processor.dedup_max_ids,
        )  # fmt: skip
    replica = Replica(
        around, name, input_log, output_log, engine, view, nodes, begun=begun, log_end=last
    )
    if is_empty:
        replica.unrecorded = Beginning(*await engine.contents())
    tail = await output_log.tail()
    replica.epoch = tail.epoch
    replica.know(tail.last_id)
    return replica


async def _engine(
    around: Surroundings, view: AppView, revisions: Sequence[Revision], offload: Offload
) -> tuple[AppEngine, Stamp, bool]:
    """The engine, under which desired state its state began, and whether that is an empty one."""
    deployment = view.deployment
    origin: Position = int(deployment.settings.get(ORIGIN_SETTING, "0"))
    choice = choose(revisions, deployment, origin=origin)
    if not isinstance(choice, Fresh):
        alike = [
            one
            for one in revisions
            if one.verified
            and one.version == choice.revision.version
            and stamp_of(one).created_ms == stamp_of(choice.revision).created_ms
            and is_begun(one.version, stamp_of(one), deployment) is isinstance(choice, Resume)
        ]
        for revision in sorted(alike, key=lambda one: one.position, reverse=True):
            engine = await _restored(around, revision, offload)
            if engine is not None:
                return engine, stamp_of(revision), False
    engine = await AppEngine.create(
        deployment.text, deployment.version, around.make_executor, offload,
        origin=origin, max_sends=around.settings.processor.dedup_max_ids,
    )  # fmt: skip
    return engine, Stamp(deployment.created_ms, 0), True


async def _restored(around: Surroundings, revision: Revision, offload: Offload) -> AppEngine | None:
    """The engine at a revision, or None when that cannot be used."""
    try:
        contents = unseal(await around.world.store.revisions.load(revision.id))
        engine = await AppEngine.create(
            contents.text, revision.version, around.make_executor, offload,
            origin=revision.position, max_sends=around.settings.processor.dedup_max_ids,
        )  # fmt: skip
        await engine.restore(revision.position, contents)
    except (LookupError, EnvelopeError, SnapshotError) as error:
        around.log.error("a revision cannot be used", revision=revision.id, error=str(error))
        return None
    return engine
