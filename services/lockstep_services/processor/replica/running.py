"""Which state a replica runs, and which one is wanted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from lockstep.control import AppView, PastStatus
from lockstep.events import Generation, Position
from lockstep.settings import ProcessorSettings
from lockstep_services.processor.replica.origin import has_to_give_way
from lockstep_services.processor.replica.standby import HOT, standby_of
from lockstep_services.processor.state.engine import AppEngine
from lockstep_services.processor.state.envelope import Contents

BEFORE_THE_FIRST: Final = 0
"""The number of the life in which a new app waits for its past."""


@dataclass(frozen=True)
class Beginning:
    """An empty state, as a revision would hold it."""

    position: Position
    contents: Contents


@dataclass
class Wanted:
    """The desired state, and the nodes that shall carry it."""

    view: AppView
    nodes: tuple[str, ...]
    settings: ProcessorSettings
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    standby: str = field(init=False)
    """How a replica stands by: hot or warm. Asked for more often than anything else."""

    def __post_init__(self) -> None:
        self.standby = standby_of(self.view, self.settings)

    def change(self, view: AppView, nodes: tuple[str, ...]) -> None:
        """What is wanted from now on; whoever waits for that is told when it is something else. Of
        a thousand apps each is told time and again what it knows."""
        if view is self.view and nodes == self.nodes:
            return
        self.view, self.nodes = view, nodes
        self.standby = standby_of(view, self.settings)
        self.changed.set()

    @property
    def is_hot(self) -> bool:
        """A standby folds, too."""
        return self.standby == HOT


@dataclass
class Running:
    """The state that runs, which may be older than the one wanted (upgrade, restore).

    `is_recorded`: the output log bears its generation. `unrecorded`: it began empty, and the log
    does not say so yet. `began_empty`: what did not fit of the state before. `past`: how far what
    the app is to begin with is folded, beside the state that runs. `stored_ms`: when the revision
    was taken that it began with, or the empty state.
    """

    engine: AppEngine
    generation: Generation
    wanted: Wanted
    is_recorded: bool = False
    stored_ms: int = 0
    unrecorded: Beginning | None = None
    began_empty: tuple[str, ...] = ()
    past: PastStatus | None = None

    @property
    def awaits_past(self) -> bool:
        """The app is new, and begins with a past that is not folded yet: until then it folds
        nothing else. What replaces an app that runs does not stop that."""
        origin, life = self.wanted.view.deployment.origin, self.generation.life
        return life.number == BEFORE_THE_FIRST and origin.past_for(life) is not None

    @property
    def is_old(self) -> bool:
        """Another version is wanted, or the state of a revision."""
        deployment = self.wanted.view.deployment
        return has_to_give_way(self.engine.version, self.generation.life, deployment)

    @property
    def is_settled(self) -> bool:
        """It is the one wanted, and recorded: neither going over nor just beginning."""
        return not self.is_old and self.is_recorded

    async def change(
        self, engine: AppEngine, generation: Generation, *, began_empty: tuple[str, ...]
    ) -> None:
        """Goes on with another engine that stands at the same position, whose generation the log
        bears now; the old one is closed."""
        old, self.engine, self.generation = self.engine, engine, generation
        self.began_empty = began_empty
        self.record()
        await old.close()

    def record(self) -> None:
        """The output log bears its generation."""
        self.is_recorded, self.unrecorded = True, None
