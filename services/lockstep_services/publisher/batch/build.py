"""Builds what runs scheduled scripts from the publisher's context."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockstep.archive.place import Place
from lockstep.batch.book import ScriptBook
from lockstep.batch.run_book import RunBook
from lockstep.batch.running import Workplace
from lockstep.frame import Context, LeaseKeeper, Offload
from lockstep_services.publisher.batch.attempt import Attempts
from lockstep_services.publisher.batch.delivering import Deliverer, Outlets, SinkMaker
from lockstep_services.publisher.batch.scheduler import RESOURCE, Scheduler
from lockstep_services.publisher.batch.sending import Sender


def scheduler_of(
    context: Context,
    place: Place,
    offload: Offload,
    receivers: Callable[[], Sequence[str]],
    maker: SinkMaker,
) -> Scheduler:
    """Its lease is watched and its looks are begun. `offload`: what touches the tables; `maker`:
    of the sinks that scripts name."""
    settings, clock, log = context.settings, context.clock, context.log
    entries = context.world.store.batch
    keeper = LeaseKeeper(
        context.leases, context.holders, RESOURCE, clock, settings.leader, context.metrics, log
    )
    scripts = ScriptBook(entries, clock, settings.batch)
    runs = RunBook(scripts, entries, clock, settings.batch)
    token = settings.server.token.get_secret_value() or None
    attempts = Attempts(
        context.node, place, scripts, runs, Workplace(settings, clock),
        Outlets(Sender(receivers, token, clock, context.randomness), Deliverer(maker, log)),
        offload, clock, settings, context.metrics, log,
    )  # fmt: skip
    made = Scheduler(
        scripts, runs, attempts, keeper, context.tasks, clock, settings.batch, context.metrics, log
    )
    context.tasks.supervise("lease-batch", keeper.run)
    context.tasks.supervise("batch", made.run)
    return made
