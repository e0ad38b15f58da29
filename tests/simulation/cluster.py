"""The simulated cluster: servers, nodes and clients, and what a driver may do to them."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Final

from lockstep.bus import LogName, input_subject, output_subject
from lockstep.bus.limits import BusLimits
from lockstep.control import log_of
from tests.simulation.breaks import Break
from tests.simulation.bus import SimBus, Switchboard
from tests.simulation.carrier import RecordedLog, SimCarrier
from tests.simulation.clients import Client
from tests.simulation.database import Database
from tests.simulation.door import SimDoor
from tests.simulation.executor import Folds
from tests.simulation.leases import LEASES, RecordedTable
from tests.simulation.loop import Host, HostClock
from tests.simulation.network import Network
from tests.simulation.node import EPOCH_MS, SimNode, Surroundings, base_settings
from tests.simulation.people import People
from tests.simulation.reference import Reference
from tests.simulation.scenario import LOAD_UNTIL_MS, Scenario
from tests.simulation.store import StoreServer
from tests.simulation.story import Story

INGRESS_REDELIVERY_MS: Final = 2_000
ASK_TIMEOUT_MS: Final = 6_000
DEPLOY_PAUSE_MS: Final = 200
LOOK_PAUSE_MS: Final = 1_000
NUMBERS_A_CLIENT: Final = 1_000_000
COMING_UP_MS: Final = 30
START_AGAIN_MS: Final = 400
CLOSING_MS: Final = (0, 120)
"""Until the kernel of a process that is gone has closed its connections."""


@dataclass(frozen=True)
class Life:
    """An app's logs until they were removed, or until now."""

    input: RecordedLog
    output: RecordedLog
    reference: Reference


class Cluster:
    """Built inside the loop of `story`."""

    def __init__(self, scenario: Scenario, story: Story, broken: Break) -> None:
        loop = story.loop
        self.scenario, self.story, self.loop = scenario, story, loop
        self.app = scenario.app.name
        self.deployed = 0
        self.joined: tuple[str, ...] = ()
        self.parallel = scenario.parallel or None
        self.network = Network(loop, random.Random(f"network {scenario.seed}"))
        self.network.stall_share = scenario.stall_share
        aside = Network(
            loop, random.Random(f"aside {scenario.seed}"), self.network.ways, self.network.servers
        )
        server_clock = HostClock(loop, EPOCH_MS)
        self.lease_clock = HostClock(loop, EPOCH_MS)
        limits = BusLimits(
            ingress_redelivery_ms=INGRESS_REDELIVERY_MS,
            dedup_window_ms=base_settings().receiver.dedup_window_ms,
        )
        self.around = Surroundings(
            loop=loop,
            network=self.network,
            aside=aside,
            carrier=SimCarrier(clock=server_clock, limits=limits, loop=loop),
            board=Switchboard(),
            table=RecordedTable(self.lease_clock),
            store=StoreServer(loop),
            database=Database(loop),
            folds=Folds(),
            replicas=scenario.replicas,
        )
        self._lives: dict[int, Life] = {}
        self.people = People(self)
        self.around.folds.kind = broken.executor
        self.host = Host("operator")
        self.clock = server_clock
        self.skews_ms = dict(zip(scenario.nodes, scenario.skews_ms, strict=True))
        self.incarnations: dict[str, int] = {}
        self.nodes: dict[str, SimNode] = {}
        self.leaving: set[str] = set()
        self.clients = [self._client(i, mode) for i, mode in enumerate(scenario.clients)]

    @property
    def names(self) -> tuple[str, ...]:
        """All nodes that there may be."""
        return self.scenario.nodes + self.joined

    @property
    def logs(self) -> list[LogName]:
        """Those that the app was ever deployed on, in the order of time."""
        return sorted({log_of(one) for one in self.around.store.archive.deployments.values()})

    @property
    def input(self) -> RecordedLog:
        """The app's input log, the last there was."""
        return self._life(self.logs[-1]).input

    @property
    def output(self) -> RecordedLog:
        """The app's output log, the last there was."""
        return self._life(self.logs[-1]).output

    @property
    def lives(self) -> list[Life]:
        """Of logs that were removed, then of those that are there; references caught up."""
        lives = [self._life(name) for name in self.logs]
        for life in lives:
            life.reference.is_over = life is not lives[-1]
            life.reference.catch_up()
        return lives

    @property
    def afterlives(self) -> list[Life]:
        """Of logs that somebody made anew who did not know that they had been removed."""
        lives = [life for name in self.logs for life in self._lives_of(name)[1:]]
        for life in lives:
            life.reference.is_over = True
            life.reference.catch_up()
        return lives

    def _life(self, name: LogName) -> Life:
        return self._lives_of(name)[0]

    def _lives_of(self, name: LogName) -> list[Life]:
        inputs = self.around.carrier.all_of(input_subject(name))
        outputs = self.around.carrier.all_of(output_subject(name))
        return [self._known(name, *both) for both in zip(inputs, outputs, strict=False)]

    def _known(self, name: LogName, entered: RecordedLog, published: RecordedLog) -> Life:
        if id(published) not in self._lives:
            archive = self.around.store.archive
            first = next(d.text for d in archive.deployments.values() if log_of(d) == name)
            reference = Reference(first, entered, published, archive)
            self._lives[id(published)] = Life(entered, published, reference)
        return self._lives[id(published)]

    def node(self, name: str) -> SimNode | None:
        """The node while it lives."""
        node = self.nodes.get(name)
        return node if node is not None and node.lives and name not in self.leaving else None

    def start(self, name: str) -> None:
        """A new process of that name."""
        number = self.incarnations[name] = self.incarnations.get(name, 0) + 1
        seed = f"{self.scenario.seed} {name} {number}"
        self.story.tell("operator", f"starts {name}")
        node = SimNode(self.around, name, seed=seed, skew_ms=self.skews_ms[name])
        self.nodes[name] = node
        node.started.add_done_callback(lambda done: self._mind_start(node, done))

    def _mind_start(self, node: SimNode, done: asyncio.Task[None]) -> None:
        """A process that cannot start ends; whoever started it tries again."""
        if done.cancelled() or done.exception() is None or not node.lives:
            return
        self.story.tell("operator", f"{node.name} did not start: {done.exception()}")
        self.crash(node.name)
        pause_s = START_AGAIN_MS / 1000
        self.loop.call_later(pause_s, self._start_again, node, context=self.host.context)

    def _start_again(self, node: SimNode) -> None:
        if self.nodes[node.name] is node:
            self.start(node.name)

    def crash(self, name: str, *, quietly: bool = False) -> bool:
        """Gone between two steps, without a word; False when it was gone before."""
        node = self.nodes.get(name)
        if node is None or not node.lives or (name in self.leaving and not quietly):
            return False
        self.loop.bury(node.host)
        self.around.board.forget(node.host)
        self.loop.call_later(
            self.around.aside.random.uniform(*CLOSING_MS) / 1000,
            self.around.table.hang_up, node.process_id,
            context=self.network.server(LEASES).host.context,
        )  # fmt: skip
        return True

    async def sleep_ms(self, duration_ms: int) -> None:
        """On the virtual clock."""
        await self.clock.sleep_ms(duration_ms)

    async def sleep_until(self, at_ms: int) -> None:
        """Until that time since the beginning."""
        await self.sleep_ms(at_ms - self.loop.now_ms)

    async def boot(self) -> None:
        """All nodes, and the app's first version."""
        for name in self.names:
            self.start(name)
            await self.sleep_ms(COMING_UP_MS)
        await self.people.deploy(self.scenario.app.versions[0])

    async def heal(self) -> None:
        """Everything comes up again."""
        for name in self.names:
            node = self.nodes.get(name)
            if node is None or not node.lives:
                self.start(name)
            elif node.host.paused:
                self.loop.resume(node.host)

    def load(self) -> list[Any]:
        """The clients at work; tasks."""
        return [
            self.loop.create_task(
                client.run(LOAD_UNTIL_MS, self.scenario.every_ms),
                context=client.host.context.copy(),
            )
            for client in self.clients
        ]

    def _client(self, number: int, mode: str) -> Client:
        host = Host(f"client-{number}")
        bus = SimBus(self.network, host, self.around.carrier, self.around.board)
        return Client(
            host.name, mode, self.app, self.network, self.clock,
            random.Random(f"{host.name} {self.scenario.seed}"),
            self._receivers, bus, (number + 1) * NUMBERS_A_CLIENT, self.scenario.app.symbols,
        )  # fmt: skip

    def _receivers(self) -> list[tuple[Host, SimDoor]]:
        return [
            (node.host, node.door)
            for name, node in self.nodes.items()
            if name.startswith("receiver")
        ]
