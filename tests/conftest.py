"""What all tests share: the real servers and Spark's environment, each made once per worker."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from lockstep.embedded import EmbeddedServers, prepare_spark_environment
from tests.kafka.broker import KafkaBroker, start_broker, start_cluster

# What takes long now and then does so on a busy machine; whether the code does, the bench tells.
settings.register_profile(
    "unhurried", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("unhurried")

HERE = Path(__file__).parent
UNIT = [HERE / name for name in ("unit", "golden")]
"""Where tests are that `make unit` runs, but for those that take long."""
LONG = ("servers", "spark", "processes")
"""Markers of these; properties, which try many examples, are among them."""

SPARK_TIMEOUT_S = 400
"""The first test of a worker starts Spark: seconds on an idle machine, minutes on a crowded one."""

GARBAGE = 60_000
"""New objects until garbage is looked for in cycles: as tests go, most of it is none."""


class _Stderr:
    """Standard error as it is when something is written: pytest puts another one there for each
    test that asks for it, and a module's logger may be older."""

    def write(self, text: str) -> int:
        """As a file does."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Likewise."""
        sys.stderr.flush()


PROCESSORS = [
    *structlog.get_config()["processors"][:-1],
    structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
]
"""One list for all tests: a logger that a module made when a test imported it keeps the list, and
`capture_logs` changes what is in it."""


@pytest.fixture(autouse=True)
def log_lines() -> Iterator[None]:
    """Log lines go to standard error, as the product's do: what a command answers in the same
    process is on standard output alone. An error's place is told as the product does: laying out
    all variables, as structlog does unasked, took up to a minute. What a test or a command
    configures is undone."""
    structlog.configure(
        processors=PROCESSORS,
        logger_factory=lambda *_: structlog.PrintLogger(_Stderr()),  # type: ignore[arg-type]
    )
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServers]:
    """NATS with JetStream, Redis and PostgreSQL; tests choose names of their own in them."""
    # Opened and closed outside of any test's event loop: the servers are not bound to one.
    started = EmbeddedServers(tmp_path_factory.mktemp("servers"), sync_interval="2m")
    asyncio.run(started.open())
    yield started
    asyncio.run(started.close())


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One Kafka broker; tests choose topics of their own."""
    broker = asyncio.run(start_broker(tmp_path_factory.mktemp("kafka")))
    yield broker
    asyncio.run(broker.kill())


@pytest.fixture(scope="session")
def kafka_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The addresses of three Kafka brokers."""
    brokers = asyncio.run(start_cluster(tmp_path_factory.mktemp("kafka")))
    yield ",".join(broker.url for broker in brokers)
    for broker in brokers:
        asyncio.run(broker.kill())


@pytest.fixture(scope="session")
def spark_env() -> None:
    """JAVA_HOME and PYSPARK_PYTHON such that a Spark session starts on any machine."""
    prepare_spark_environment()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays, so nothing looks for garbage in it, now or in a test: that took a
    quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(GARBAGE, 10, 10)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs servers or Spark, and what takes no long time. One worker gets all of Spark,
    others whole files, or all goldens of a topic."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if "servers" in fixtures:
            item.add_marker(pytest.mark.servers)
        if "spark_env" in fixtures or "spark" in [p for p in parameters if isinstance(p, str)]:
            item.add_marker(pytest.mark.spark)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(SPARK_TIMEOUT_S))
        slow = any(item.get_closest_marker(name) for name in LONG)
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if not (slow or is_property) and any(item.path.is_relative_to(folder) for folder in UNIT):
            item.add_marker(pytest.mark.unit)
        group = "spark" if item.get_closest_marker("spark") else group_of(item.nodeid)
        item.add_marker(pytest.mark.xdist_group(group))


def group_of(test: str) -> str:
    """The tests that one worker gets together."""
    file, _, rest = test.partition("::")
    topic, found, _ = rest.partition("[")[2].partition("/")
    return f"{file} {topic}" if found and file.startswith("tests/golden/") else file
