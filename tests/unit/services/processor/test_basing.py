"""Which revisions an executor is given to rebuild a lost state from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import LogName
from lockstep.clock import VirtualClock
from lockstep.events import Generation, Life
from lockstep.settings import load_settings
from lockstep.store import Revision, revision_id
from lockstep.store.memory import MemoryStore
from lockstep_services.processor.revise.basing import WORTH_IT, BaseLoop
from lockstep_services.processor.state.envelope import Contents, seal

LIMIT_BYTES = 1_000
OURS = Life(7, 3)


class Quiet:
    """A log that nobody reads."""

    def bind(self, **_: object) -> Quiet:
        """The same."""
        return self

    def warning(self, *_: object, **__: object) -> None:
        """Nothing."""


@dataclass
class Engine:
    """Takes what it is given."""

    base_bytes: int = LIMIT_BYTES
    version: str = "v"
    given: list[bytes] = field(default_factory=list)

    async def rebase(self, contents: Contents) -> None:
        """Remembers it."""
        self.given.append(bytes(contents.snapshot))


@dataclass
class Scene:
    """A replica, as far as the loop looks at it, and a store."""

    store: MemoryStore = field(default_factory=MemoryStore)
    engine: Engine = field(default_factory=Engine)

    @property
    def loop(self) -> BaseLoop:
        """Made anew: it remembers what it gave last."""
        settings = load_settings({"LOCKSTEP_PROCESSOR__REBUILD_MAX_BYTES": str(LIMIT_BYTES)})
        site: Any = SimpleNamespace(
            settings=settings,
            world=SimpleNamespace(store=self.store),
            clock=VirtualClock(),
            log=Quiet(),
            name=LogName("App"),
            labels={},
        )
        running: Any = SimpleNamespace(engine=self.engine, generation=Generation(OURS, 10))
        return BaseLoop(site, running)

    async def save(
        self, position: int, snapshot: bytes, life: Life = OURS, begun: int = 10, **changes: Any
    ) -> None:
        """A revision in the store."""
        payload = seal(Contents("text", snapshot, (), ()))
        identity = revision_id("App", Generation(life, begun), position, f"u{position}")
        revision = Revision(
            identity, "App", "main", 0, "v", position, 1, len(payload), verified=True, epoch=1
        )
        await self.store.revisions.save(replace(revision, **changes), payload)


async def test_the_newest_one_is_given_once() -> None:
    """A newer one again."""
    scene = Scene()
    await scene.save(20, b"old")
    await scene.save(30, b"new")
    loop = scene.loop
    await loop.give()
    await loop.give()
    assert scene.engine.given == [b"new"]
    await scene.save(40, b"newer")
    await loop.give()
    assert scene.engine.given == [b"new", b"newer"]


@pytest.mark.parametrize(
    ("position", "life", "changes"),
    [
        (20, OURS, {"verified": False}),
        (20, OURS, {"version": "other"}),
        (20, OURS, {"begun": 11}),
        (20, OURS.next, {}),
        (20, Life(7, 2), {}),
        (20, Life(6, 3), {}),
    ],
    ids=["unverified", "version", "begun elsewhere", "restored later", "earlier", "redeployed"],
)
async def test_a_revision_of_another_state_is_not_given(
    position: int, life: Life, changes: dict[str, Any]
) -> None:
    """The newest one that is of this state is."""
    scene = Scene()
    await scene.save(position, b"other", life, **changes)
    await scene.loop.give()
    assert scene.engine.given == []
    await scene.save(12, b"ours")
    await scene.loop.give()
    assert scene.engine.given == [b"ours"]


async def test_a_large_one_is_not_even_loaded() -> None:
    """The base could not keep it."""
    scene = Scene()
    await scene.save(20, bytes(LIMIT_BYTES))
    await scene.loop.give()
    assert scene.engine.given == []


async def test_a_short_base_needs_none() -> None:
    """A quiet app's is folded again sooner than a revision is fetched."""
    scene = Scene(engine=Engine(base_bytes=LIMIT_BYTES // WORTH_IT))
    await scene.save(20, b"there")
    await scene.loop.give()
    assert scene.engine.given == []
