"""Real Kafka brokers for tests: each also a controller, loopback only, small; one, or three.
`KAFKA=3` in the environment takes the last of the line before, in place of Kafka 4."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from lockstep.clock import Clock, Randomness, SystemClock, SystemRandomness
from lockstep.embedded import THIS_MACHINE, Machine, Server, free_port, java_home
from lockstep.embedded.process import Command
from lockstep.embedded.server import HOST
from tests.needed import lacking

OLDER = os.environ.get("KAFKA", "") == "3"
JARS = Path(sys.prefix) / ("kafka3" if OLDER else "kafka")
LOCK = Path(__file__).with_name("jars3.lock" if OLDER else "jars.lock")

_CONFIGURATION = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{controller}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
log.dirs={data}
num.partitions=1
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=1
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={majority}
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
"""
_CLUSTER_ID = "bG9ja3N0ZXAtdGVzdHMtMA"


def absent_jars(directory: Path = JARS) -> list[str]:
    """Those of the lock file that `scripts/kafka` has not brought."""
    lines = [line for line in LOCK.read_text().splitlines() if line[:1] not in ("", "#")]
    names = [line.split()[1].rpartition("/")[2] for line in lines]
    return [name for name in names if not (directory / name).is_file()]


def needed_jars() -> None:
    """Ends the program where they are missing, with what to do."""
    if absent_jars():
        sys.exit(f"no jars of Kafka's broker: scripts/kafka {JARS} fetches them")


async def start_broker(directory: Path, kind: type[KafkaBroker] | None = None) -> KafkaBroker:
    """One that runs, or the test is passed over."""
    if absent_jars():
        lacking("no jars of Kafka's broker: scripts/kafka fetches them from Maven Central")
    make = kind or KafkaBroker
    broker = make(directory, clock=SystemClock(), randomness=SystemRandomness())
    await broker.start()
    return broker


async def start_cluster(directory: Path) -> list[KafkaBroker]:
    """Three that know one another, or the test is passed over."""
    if absent_jars():
        lacking("no jars of Kafka's broker: scripts/kafka fetches them from Maven Central")
    controllers = [f"{HOST}:{free_port()}" for _ in range(3)]
    brokers = [
        KafkaBroker(
            directory / str(node),
            clock=SystemClock(),
            randomness=SystemRandomness(),
            node=node,
            controllers=controllers,
        )
        for node in range(3)
    ]
    await asyncio.gather(*(broker.start() for broker in brokers))
    return brokers


class KafkaBroker(Server):
    """Its jars come from `scripts/kafka`; port and data survive a kill. `controllers`: where all
    nodes' controllers are, this one's at `node`."""

    name = "kafka"
    start_timeout_ms = 150_000  # a virtual machine that loads hundreds of classes, beside Spark's

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        randomness: Randomness,
        machine: Machine = THIS_MACHINE,
        node: int = 0,
        controllers: Sequence[str] = (),
    ) -> None:
        super().__init__(directory, clock=clock, randomness=randomness, machine=machine)
        self._node = node
        self._controllers = controllers or [f"{machine.host}:{free_port()}"]
        self._java = java_home() / "bin" / "java"

    @property
    def url(self) -> str:
        """As `bootstrap.servers` takes it."""
        return f"{self.machine.host}:{self.port}"

    async def _prepare(self) -> None:
        data = self.directory / "data"
        if data.exists():
            return
        self._properties.write_text(self._configuration())
        arguments = ["format", "--cluster-id", _CLUSTER_ID, "--config", str(self._properties)]
        arguments += self._format_options()
        await asyncio.to_thread(
            subprocess.run,
            self._program("kafka.tools.StorageTool", *arguments),
            check=True,
            capture_output=True,
        )

    def _configuration(self) -> str:
        """Its properties."""
        return _CONFIGURATION.format(
            host=self.machine.host,
            port=self.port,
            controller=self._controllers[self._node],
            data=self.directory / "data",
            node=self._node + 1,
            voters=",".join(f"{i}@{place}" for i, place in enumerate(self._controllers, 1)),
            replicas=len(self._controllers),
            majority=len(self._controllers) // 2 + 1,
        )

    def _format_options(self) -> list[str]:
        """What its data folder is made with."""
        return []

    def _command(self) -> Command:
        arguments = self._program("kafka.Kafka", str(self._properties))
        return Command(arguments, self.directory / "log", through=self.machine.through)

    async def _answers(self) -> bool:
        return await asyncio.to_thread(_lists_itself, self.url)

    @property
    def _properties(self) -> Path:
        return self.directory / "server.properties"

    def _program(self, main: str, *arguments: str) -> list[str]:
        heap = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return [str(self._java), *heap, "-cp", f"{JARS}/*", main, *arguments]


def _lists_itself(address: str) -> bool:
    try:
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        return bool(admin.list_topics(timeout=1).brokers)
    except KafkaException:
        return False
