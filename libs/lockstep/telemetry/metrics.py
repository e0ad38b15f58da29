"""The door to prometheus-client: instruments by declared name, in a registry of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase

from lockstep.telemetry.levels import Level
from lockstep.telemetry.names import METRICS, Metric, MetricKind, MetricName

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# The moment a series was created would double the page and says nothing here.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """One service's metrics.

    Every call names a metric of `METRICS` and exactly its labels; anything else is a ValueError.
    """

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._instruments: dict[MetricName, MetricWrapperBase] = {}
        # Looking a series up by its labels takes longer than counting.
        self._series: dict[tuple[object, ...], MetricWrapperBase] = {}
        self._of_apps: dict[str, set[tuple[MetricName, tuple[str, ...]]]] = {}
        self._lookers: list[Callable[[], None]] = []
        self._levels: dict[str, Level] = {}
        self._silent: frozenset[str] = frozenset()

    def set_levels(self, levels: Mapping[str, Level]) -> None:
        """How much each app's metrics tell; apps that are not named are at BASIC. Series of an app
        at OFF go, and none are made, whoever counts."""
        self._levels = dict(levels)
        silent = frozenset(app for app, level in levels.items() if level is Level.OFF)
        for app in silent - self._silent:
            self.forget_app(app)
        self._silent = silent

    def level(self, app: str) -> Level:
        """Of an app."""
        return self._levels.get(app, Level.BASIC)

    def count(self, name: MetricName, amount: float = 1, **labels: object) -> None:
        """Adds `amount` >= 0 to a counter."""
        if self._silent and labels.get("app") in self._silent:
            return
        counter = self._labelled(name, MetricKind.COUNTER, labels)
        assert isinstance(counter, Counter)
        counter.inc(amount)

    def set(self, name: MetricName, value: float, **labels: object) -> None:
        """Sets a gauge."""
        if self._silent and labels.get("app") in self._silent:
            return
        gauge = self._labelled(name, MetricKind.GAUGE, labels)
        assert isinstance(gauge, Gauge)
        gauge.set(value)

    def observe(self, name: MetricName, value: float, **labels: object) -> None:
        """Puts one observation, in the unit that ends the name, into a histogram."""
        if self._silent and labels.get("app") in self._silent:
            return
        histogram = self._labelled(name, MetricKind.HISTOGRAM, labels)
        assert isinstance(histogram, Histogram)
        histogram.observe(value)

    def forget(self, name: MetricName, **labels: object) -> None:
        """Stops showing one series, for example of an undeployed app; unknown ones are ignored."""
        instrument = self._instruments.get(name)
        if instrument is not None and labels:
            values = tuple(str(labels[label]) for label in METRICS[name].labels)
            instrument.remove(*values)
            self._series.clear()
            if "app" in labels and (others := self._of_apps.get(app := str(labels["app"]))):
                others.discard((name, values))
                if not others:
                    del self._of_apps[app]

    def clear(self, name: MetricName) -> None:
        """Stops showing all series of a metric."""
        if (instrument := self._instruments.get(name)) is None:
            return
        self._series.clear()
        if METRICS[name].labels:
            instrument.clear()
        else:  # it is its own series
            self._registry.unregister(instrument)
            del self._instruments[name]

    def forget_all(self, prefix: str, **labels: object) -> None:
        """Stops showing all series of metrics of that prefix that bear these labels."""
        texts = {label: str(value) for label, value in labels.items()}
        self._series.clear()
        for name, instrument in self._instruments.items():
            if name.startswith(prefix) and texts.keys() <= set(METRICS[name].labels):
                instrument.remove_by_labels(texts)

    def forget_app(self, app: str) -> None:
        """Stops showing all series of an app; costs nothing where it has none."""
        found = self._of_apps.pop(app, ())
        if found:
            self._series.clear()
        for name, values in found:
            self._instruments[name].remove(*values)

    def look(self, looker: Callable[[], None]) -> None:
        """`looker` sets gauges whenever somebody asks for the page: what is only looked up then
        costs nothing at any other time."""
        self._lookers.append(looker)

    def value(self, name: MetricName, **labels: object) -> float:
        """What a counter or gauge stands at; 0.0 when it was never touched."""
        texts = {label: str(value) for label, value in labels.items()}
        return self._registry.get_sample_value(name, texts) or 0.0

    def render(self) -> bytes:
        """The text exposition for `/metrics`; send it as CONTENT_TYPE."""
        for looker in self._lookers:
            looker()
        return generate_latest(self._registry)

    def _labelled(
        self, name: MetricName, kind: MetricKind, labels: dict[str, object]
    ) -> MetricWrapperBase:
        place = (name, kind, *labels.items())
        series = self._series.get(place)
        if series is None:
            series = self._series[place] = self._found(name, kind, labels)
        return series

    def _found(
        self, name: MetricName, kind: MetricKind, labels: dict[str, object]
    ) -> MetricWrapperBase:
        instrument = self._instruments.get(name)
        if instrument is None:
            instrument = self._create(name)
        if METRICS[name].kind is not kind:
            raise ValueError(f"{name} is a {METRICS[name].kind}, not a {kind}")
        if not labels:
            return instrument
        series = instrument.labels(**labels)
        if "app" in labels:
            values = tuple(str(labels[label]) for label in METRICS[name].labels)
            self._of_apps.setdefault(str(labels["app"]), set()).add((name, values))
        return series

    def _create(self, name: MetricName) -> MetricWrapperBase:
        declared: Metric | None = METRICS.get(name)
        if declared is None:
            raise ValueError(f"{name} is not declared in lockstep.telemetry.names")
        instrument = _instrument(name, declared, self._registry)
        self._instruments[name] = instrument
        return instrument


def _instrument(name: str, declared: Metric, registry: CollectorRegistry) -> MetricWrapperBase:
    match declared.kind:
        case MetricKind.COUNTER:
            return Counter(name, declared.meaning, declared.labels, registry=registry)
        case MetricKind.GAUGE:
            return Gauge(name, declared.meaning, declared.labels, registry=registry)
        case MetricKind.HISTOGRAM:
            return Histogram(
                name,
                declared.meaning,
                declared.labels,
                registry=registry,
                buckets=declared.buckets,
            )
