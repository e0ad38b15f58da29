"""`#streamingml:`: functions that learn of each event and tell what they have learned.

What leaves a window in front teaches nothing and brings nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lockstep.operators.contract import CURRENT, EXPIRED, Emit, PlainState, StreamEvent, nowhere
from lockstep.operators.errors import EventError
from lockstep.stream_functions.call import Buffering, StreamCall, StreamFunctionFactory, StreamLink
from lockstep.stream_functions.streamingml.bayes import Classes, Line
from lockstep.stream_functions.streamingml.clusters import KMeans, Point, nearest
from lockstep.stream_functions.streamingml.perceptron import THRESHOLD, Perceptron

if TYPE_CHECKING:
    from lockstep.stream_functions.streamingml.learners import MicroClusters

Values = tuple[Any, ...]

NUMBER_MAX = 1e100
"""Of a feature: squares of larger ones, added up, would be no numbers."""


def _split(call: StreamCall) -> tuple[list[Any], list[Callable[[StreamEvent], Any]]]:
    """The constants of a call, and its attributes."""
    pairs = list(zip(call.arguments, call.values, strict=True))
    settings = [argument.value for argument, _ in pairs if argument.is_constant]
    return settings, [value for argument, value in pairs if not argument.is_constant]


def _numbers(values: Sequence[Callable[[StreamEvent], Any]], event: StreamEvent) -> Point:
    found = tuple(value(event) for value in values)
    if not all(each is not None and abs(each) <= NUMBER_MAX for each in found):
        raise EventError("streamingml: a feature is null, or no number up to 1e100")
    return tuple(map(float, found))


def _each(chunk: list[StreamEvent], told: Callable[[StreamEvent], Values]) -> list[StreamEvent]:
    out: list[StreamEvent] = []
    for event in chunk:
        if event.kind > EXPIRED:
            out.append(event)
        elif event.kind == CURRENT:
            out.append(StreamEvent(event.timestamp_ms, (*event.data, *told(event))))
    return out


class Sharing:
    """A link without state of its own: the model has it, and others share that."""

    __slots__ = ("_told", "emit")

    def __init__(self, told: Callable[[StreamEvent], Values]) -> None:
        self._told = told
        self.emit: Emit = nowhere

    def process(self, chunk: list[StreamEvent]) -> None:
        out = _each(chunk, self._told)
        if out:
            self.emit(out)


def _of_river() -> Any:
    """The learners of river, which takes a second and a half to load. An extra: `kMeans` and others
    need no river, and so this file has to be there without it."""
    from lockstep.stream_functions.streamingml import learners

    return learners


# --- clusters ------------------------------------------------------------------------------------


class _Clusters(Buffering):
    """Appends how far the nearest centroid is, and where; nulls as long as there is none."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self.settings, self._features = _split(call)

    def process(self, chunk: list[StreamEvent]) -> None:
        out = _each(chunk, self._told)
        if out:
            self.emit(out)

    def _told(self, event: StreamEvent) -> Values:
        point = _numbers(self._features, event)
        centroid = self.learned(point)
        if centroid is None:
            return (None,) * (len(point) + 1)
        return (math.dist(point, centroid), *centroid)

    def learned(self, point: Point) -> Point | None:
        """Learns of a point; the centroid that is told."""
        raise NotImplementedError


class KMeansIncremental(_Clusters):
    """Each event moves the centroid that was nearest to it, after it is told."""

    every = 1
    iterations = 2

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        clusters, decay = (*self.settings[:2], 0.01)[:2]
        self._means = KMeans(clusters, decay, self.iterations)
        self._batch: list[Point] = []

    def learned(self, point: Point) -> Point | None:
        found = self._means.centroids
        told = found[nearest(found, point)] if found else None
        self._batch.append(point)
        if len(self._batch) >= self.every:
            self._means.learn(self._batch)
            self._batch = []
        return told

    def snapshot(self) -> PlainState:
        """The centroids, and the events that they have not learned of."""
        return (list(self._means.centroids), list(self._batch))

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        centroids, batch = state
        self._means.centroids = [tuple(each) for each in centroids]
        self._batch = [tuple(each) for each in batch]


class KMeansMiniBatch(KMeansIncremental):
    """The centroids move after every so many events, by all of them."""

    def __init__(self, call: StreamCall) -> None:
        settings, _ = _split(call)
        self.iterations, self.every = settings[2:4] if len(settings) > 1 else (50, 20)
        super().__init__(call)


class ClusTree(_Clusters):
    """Small clusters that fade, and the centroids of these."""

    def __init__(self, call: StreamCall) -> None:
        super().__init__(call)
        self._clusters: MicroClusters = _of_river().MicroClusters(*self.settings)

    def learned(self, point: Point) -> Point | None:
        self._clusters.learn(point)
        return self._clusters.centroid(point)

    def snapshot(self) -> PlainState:
        """All clusters."""
        return self._clusters.snapshot()

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        self._clusters.restore(state)


# --- models that queries share -------------------------------------------------------------------


class Shared:
    """What a name of a model stands for. Who teaches it says what it is, wherever that query stands
    in the text; all are there before an event comes."""

    def __init__(self) -> None:
        self.model: Any = None

    def taught(self, make: Callable[[], Any]) -> None:
        """Makes the model, unless another teacher has: all have the same settings."""
        if self.model is None:
            self.model = make()

    def snapshot(self) -> PlainState:
        """What it has learned."""
        return self.model.snapshot()

    def restore(self, state: PlainState) -> None:
        """Takes it over."""
        self.model.restore(state)


def _flag(value: Any) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise EventError(f"streamingml: the label {value!r} is neither true nor false")
    return value


def _class_of(value: Any) -> str:
    if value is None:
        raise EventError("streamingml: the label is null")
    return value if isinstance(value, str) else str(value).lower()


def _update_perceptron(call: StreamCall) -> StreamLink:
    (name, *rate), (label, *features) = _split(call)
    shared = call.context.model(name, Shared)
    shared.taught(lambda: Perceptron(len(features), *rate))

    def told(event: StreamEvent) -> Values:
        shared.model.learn(_numbers(features, event), _flag(label(event)))
        return tuple(shared.model.weights)

    return Sharing(told)


def _perceptron(call: StreamCall) -> StreamLink:
    (name, *settings), features = _split(call)
    bias, threshold = settings + [0.0, THRESHOLD][len(settings) :]
    shared = call.context.model(name, Shared)

    def told(event: StreamEvent) -> Values:
        score = shared.model.score(_numbers(features, event)) + bias
        return (score > threshold, score)

    return Sharing(told)


def _update_tree(call: StreamCall) -> StreamLink:
    tree = _of_river().HoeffdingTree
    (name, *settings), (*features, label) = _split(call)
    shared = call.context.model(name, Shared)
    shared.taught(lambda: tree(*settings))
    return Sharing(
        lambda event: (shared.model.learn(_numbers(features, event), _class_of(label(event))),)
    )


def _update_rules(call: StreamCall) -> StreamLink:
    rules = _of_river().Rules
    (name, *settings), (*features, target) = _split(call)
    shared = call.context.model(name, Shared)
    shared.taught(lambda: rules(len(features), *settings))

    def told(event: StreamEvent) -> Values:
        *row, aim = _numbers((*features, target), event)
        return (shared.model.learn(row, aim),)

    return Sharing(told)


def _update_line(call: StreamCall) -> StreamLink:
    (name, *_), (target, *features) = _split(call)
    shared = call.context.model(name, Shared)
    shared.taught(lambda: Line(len(features)))

    def told(event: StreamEvent) -> Values:
        aim, *row = _numbers((target, *features), event)
        return (shared.model.learn(row, aim),)

    return Sharing(told)


def _update_classes(call: StreamCall) -> StreamLink:
    (name, most, *_), (label, *features) = _split(call)
    shared = call.context.model(name, Shared)
    shared.taught(lambda: Classes(len(features), most))
    return Sharing(
        lambda event: (shared.model.learn(_numbers(features, event), _class_of(label(event))),)
    )


def _ask(call: StreamCall) -> StreamLink:
    """Of a model that tells all that is appended."""
    (name, *_), features = _split(call)
    shared = call.context.model(name, Shared)

    def told(event: StreamEvent) -> Values:
        found: Values = shared.model.tell(_numbers(features, event))
        return found

    return Sharing(told)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("streamingml", "kMeansIncremental"): KMeansIncremental,
    ("streamingml", "kMeansMiniBatch"): KMeansMiniBatch,
    ("streamingml", "clusTree"): ClusTree,
    ("streamingml", "updatePerceptronClassifier"): _update_perceptron,
    ("streamingml", "perceptronClassifier"): _perceptron,
    ("streamingml", "updateHoeffdingTree"): _update_tree,
    ("streamingml", "hoeffdingTreeClassifier"): _ask,
    ("streamingml", "updateAMRulesRegressor"): _update_rules,
    ("streamingml", "AMRulesRegressor"): _ask,
    ("streamingml", "updateBayesianRegression"): _update_line,
    ("streamingml", "bayesianRegression"): _ask,
    ("streamingml", "updateBayesianClassification"): _update_classes,
    ("streamingml", "bayesianClassification"): _ask,
}
