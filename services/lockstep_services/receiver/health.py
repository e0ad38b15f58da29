"""How the sources of the deployed apps are doing at this receiver, and which of them are paused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Protocol

from lockstep.clock import Clock
from lockstep.connectors.grpc import DOORS
from lockstep.control import (
    Catalogue,
    Condition,
    Connector,
    ConnectorHealth,
    ConnectorState,
)
from lockstep.frame.problems import Problem
from lockstep.telemetry import Metrics, RecentBy
from lockstep_services.receiver.sources import Source, SourceBook


class Reads(Protocol):
    """Who reads sources that do not come by themselves."""

    def reads(self, source: Source) -> bool:
        """Whether this receiver does, of several."""


def called(source: Source) -> Connector:
    """How it is called among the sources and sinks of its app."""
    return Connector("source", source.stream, source.number, source.kind)


class SourceHealth:
    """Of this process: who reads a source notes here how that goes."""

    def __init__(
        self,
        catalogue: Catalogue,
        book: SourceBook,
        clock: Clock,
        metrics: Metrics,
        *,
        retry_after_ms: int,
    ) -> None:
        self._catalogue = catalogue
        self._book = book
        self._clock = clock
        self._metrics = metrics
        self._retry_after_ms = retry_after_ms
        self._conditions: dict[str, Condition] = {}
        self._brought = RecentBy(clock.monotonic_ms())
        self.feeds: Reads | None = None
        self.at_ports: Callable[[str], Mapping[str, str]] = lambda _: {}
        """Of an app, why streams get nothing at ports of their own, by stream."""
        metrics.look(self._show)

    def of(self, source: Source) -> Condition:
        """Where it is noted."""
        found = self._conditions.get(source.name)
        if found is None:
            found = self._conditions[source.name] = Condition(self._clock)
        return found

    def forget(self, source: Source) -> None:
        """It is not read any more, or is another one from now on."""
        self._conditions.pop(source.name, None)

    def brought(self, source: Source, events: int) -> None:
        """So many events of it are durable."""
        self._brought.passed(self._clock.monotonic_ms(), source.name, events)
        self._metrics.count(
            "lockstep_receiver_source_events_total", events, app=source.app,
            source=called(source).name,
        )  # fmt: skip

    def is_paused(self, source: Source) -> bool:
        """Somebody wants that nothing is taken of it."""
        return self._catalogue.pause(source.app, called(source).element) is not None

    def refuse_paused(self, source: Source) -> None:
        """Problem 503 for who sends to a source that is paused."""
        if self.is_paused(source):
            self._metrics.count("lockstep_receiver_pushed_back_total", reason="paused")
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"source '{called(source).name}' of app '{source.app}' is paused",
                hint="send again after Retry-After seconds; `lockstep resume` lets it go on",
                retry_after_ms=self._retry_after_ms,
            )

    def told(self) -> Iterator[ConnectorHealth]:
        """Of all sources that this receiver reads, or whose messages come to its door."""
        rates = self._brought.read(self._clock.monotonic_ms())
        for source in self._book.all():
            if source.is_read:
                if self.feeds is None or not self.feeds.reads(source):
                    continue
            else:
                self._look(source)
            per_s = rates.get(source.name, 0.0)
            yield self.of(source).told(source.app, called(source).element, per_s)

    def _look(self, source: Source) -> None:
        """At one whose messages come by themselves."""
        condition = self.of(source)
        why = self.at_ports(source.app).get(source.stream) if source.kind in DOORS else None
        if self.is_paused(source):
            condition.is_paused()
        elif why is None:
            condition.runs()
        elif why != condition.trouble:
            condition.retries(why)

    def _show(self) -> None:
        """Gauges, looked up when somebody asks."""
        metrics = self._metrics
        metrics.clear("lockstep_receiver_source_paused")
        metrics.clear("lockstep_receiver_source_trouble")
        for one in self.told():
            place = {"app": one.app, "source": one.element.partition(":")[2]}
            is_paused = one.state is ConnectorState.PAUSED
            is_troubled = one.state in (ConnectorState.RETRYING, ConnectorState.FAILED)
            metrics.set("lockstep_receiver_source_paused", is_paused, **place)
            metrics.set("lockstep_receiver_source_trouble", is_troubled, **place)
