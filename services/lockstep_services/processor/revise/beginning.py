"""A replica's beginning: opens its logs and restores the newest revision that can be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lockstep.bus import InputLog, LogGoneError, LogName, OutputLog, OutputTail
from lockstep.control import AppView, UnitView
from lockstep.events import Generation, Life, LockstepError, Position, describe
from lockstep.frame import Offload
from lockstep.operators.errors import SnapshotError
from lockstep.store import Deployment, Revision
from lockstep_services.processor.replica.leading import Lead, Published, Reach
from lockstep_services.processor.replica.origin import Fresh, choose, counting, generation_at
from lockstep_services.processor.replica.replica import Replica
from lockstep_services.processor.replica.running import (
    BEFORE_THE_FIRST,
    Beginning,
    Running,
    Wanted,
)
from lockstep_services.processor.replica.site import Site, Surroundings, labels_of
from lockstep_services.processor.replica.standing import Standing, standing
from lockstep_services.processor.revise.inheriting import inherit
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import EnvelopeError, unseal

AGED_HINT: Final = (
    "without an archive an input log forgets what is older than bus.max_log_age_ms, also of an app"
    " that does not run: `lockstep undeploy --purge`, then deploy it again, and it begins empty;"
    " with an archive (archive.folder) nothing is forgotten before the archive has it"
)


class NoBeginningError(LockstepError):
    """Neither a revision nor the log's beginning is there: the state cannot be rebuilt."""

    @classmethod
    def because(
        cls, message: str, unusable: LockstepError | None, where: str, hint: str | None = None
    ) -> NoBeginningError:
        """`unusable`: why the newest revision cannot be used, if there was one; else `hint`."""
        if unusable is None:
            return cls(message, where=where, hint=hint)
        return cls(f"{message}: {unusable.message}", where=where, hint=unusable.hint)


@dataclass(frozen=True, slots=True)
class _Begun:
    """An engine and the generation of its state. `is_empty`: that begins here; `lost`: what of the
    layout before it goes on without; `unusable`: why it is not the newest revision; `stored_ms`:
    when the revision was taken."""

    engine: AppEngine
    generation: Generation
    is_empty: bool
    lost: tuple[str, ...] = ()
    unusable: LockstepError | None = None
    stored_ms: int = 0


async def begin(
    around: Surroundings, name: LogName, view: AppView, nodes: tuple[str, ...], offload: Offload
) -> Replica:
    """A replica that stands at its beginning, folding not yet."""
    log = around.log.bind(**labels_of(name))
    engines = replace(around.engines, log=log)
    around = Surroundings(**{**vars(around), "log": log, "engines": engines})
    if isinstance(view, UnitView):
        input_log = await around.readings.open(view.input)
    else:
        input_log = await around.world.bus.input_log(view.input, make=False)
    output_log = await _output_log(around, name, input_log)
    # The log first: what it says has begun is in the store by then.
    tail = await output_log.tail()
    revisions = await around.world.store.revisions.list(*name.key)
    begun = await _begun(around, view, revisions, tail, offload)
    engine = begun.engine
    try:
        first, last = await input_log.bounds()
        if first > engine.position + 1 and last > 0:
            _tell_of_gap(around, name, first, begun, is_state=bool(revisions))
            await engine.close()
            one = view.deployment
            engine = await around.engines.make(
                one.text, one.version, offload, origin=first - 1, view=view
            )
        site = Site(**vars(around), name=name, input=input_log, output=output_log)
        wanted = Wanted(view, nodes, around.settings.processor)
        stored_ms = begun.stored_ms or around.clock.now_ms()
        running = Running(
            engine, begun.generation, wanted, stored_ms=stored_ms, began_empty=begun.lost
        )
        lead = Lead()
        if begun.is_empty:
            running.unrecorded = Beginning(*await engine.contents())
        published = Published(site, running, lead)
        published.saw(tail)
        reach = Reach(site, running, lead, published, last, last)
        reach.filling.begins(first, engine.position)
        return Replica(site, running, lead, reach, published)
    except BaseException:  # a cancellation as well: nobody else knows of the engine
        await engine.close()
        raise


async def _output_log(around: Surroundings, name: LogName, input_log: InputLog) -> OutputLog:
    """The unit's own. One that is missing is made only for a unit that nobody has ever begun: the
    first state is stored before it is claimed, and the input log forgets nothing before. Another
    one was lost: in a new one rows would stand a second time. LogGoneError."""
    bus, revisions = around.world.bus, around.world.store.revisions
    try:
        return await bus.output_log(name, make=False)
    except LogGoneError:
        first, _ = await input_log.bounds()
        if first > 1 or await revisions.list(*name.key):
            raise
    return await bus.output_log(name)


def _tell_of_gap(
    around: Surroundings, name: LogName, first: Position, begun: _Begun, *, is_state: bool
) -> None:
    """Whatever was forgotten before was covered by a revision once: an empty state begins behind
    it, and a state is not left behind for that. NoBeginningError."""
    position = begun.engine.position
    around.log.error(
        "the input log begins behind the newest usable revision",
        first_position=first, position=position,
    )  # fmt: skip
    if is_state:
        raise NoBeginningError.because(
            f"the log begins at {first}, the newest usable revision is at {position}",
            begun.unusable, name.app, AGED_HINT,
        )  # fmt: skip


async def _begun(
    around: Surroundings,
    view: AppView,
    revisions: Sequence[Revision],
    tail: OutputTail,
    offload: Offload,
) -> _Begun:
    """From the layout before, from the newest revision that can be used, or from nothing."""
    deployment = view.deployment
    origin: Position = deployment.origin.position
    if isinstance(view, UnitView) and view.former and not counting(revisions, tail):
        found = await inherit(around, view, offload)
        if found.lost:
            around.log.warning("a part of the state does not fit", lost=found.lost)
        generation = Generation(deployment.life, found.engine.position)
        return _Begun(found.engine, generation, is_empty=True, lost=found.lost)
    choice = choose(revisions, deployment, tail, origin=origin)
    unusable: LockstepError | None = None
    if isinstance(choice, Fresh):
        origin = choice.origin
    else:
        alike = [
            one
            for one in counting(revisions, tail)
            if one.life == choice.revision.life and one.version == choice.revision.version
        ]
        for revision in sorted(alike, key=lambda one: one.position, reverse=True):
            restored = await _restored(around, view, revision, offload)
            if not isinstance(restored, LockstepError):
                generation = generation_at(revision, tail)
                return _Begun(
                    restored, generation, is_empty=False, unusable=unusable,
                    stored_ms=revision.created_ms,
                )  # fmt: skip
            unusable = unusable or restored
    generation = Generation(_first_life(deployment), origin)
    there = tail.generation
    if there is not None and there != generation:
        is_lost = there.life.deployed_ms == deployment.life.deployed_ms
        if is_lost or standing(generation, tail) is Standing.OVERTAKEN:
            raise NoBeginningError.because(
                f"the output log goes on with a state that began at {there.position};"
                " no revision of it can be used",
                unusable, view.name,
            )  # fmt: skip
    engine = await around.engines.make(
        deployment.text, deployment.version, offload, origin=origin, view=view
    )
    return _Begun(engine, generation, is_empty=True, unusable=unusable)


def _first_life(deployment: Deployment) -> Life:
    """In which an empty state begins: one that is to make way for a past is of an earlier life."""
    waiting = replace(deployment.life, number=BEFORE_THE_FIRST)
    return deployment.life if deployment.origin.past_for(waiting) is None else waiting


async def _restored(
    around: Surroundings, view: AppView, revision: Revision, offload: Offload
) -> AppEngine | LockstepError:
    """The engine at a revision, or why that cannot be used."""
    try:
        contents = unseal(await around.world.store.revisions.load(revision.id))
        engine = await around.engines.make(
            contents.text, revision.version, offload, origin=revision.position, view=view
        )
        try:
            await engine.restore(revision.position, contents)
        except BaseException:  # a cancellation as well
            await engine.close()
            raise
    except (LookupError, EnvelopeError, SnapshotError) as error:
        around.log.error("a revision cannot be used", revision=revision.id, error=str(error))
        return error if isinstance(error, LockstepError) else LockstepError(describe(error))
    return engine
