"""What learns by algorithms of river: trees, rules, clusters. The only door to river.

Every replica and every replay must come to the same model. So draws have a fixed seed, features
and classes are numbers (river has sets of them, and sets of texts have an order by chance), trees
have a depth that ends, and nothing goes by how large an object is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from river import cluster, drift, linear_model, optim, rules, tree
from river.__version__ import __version__ as river_version

from lockstep.operators.contract import PlainState
from lockstep.operators.errors import EventError, SnapshotError
from lockstep.stream_functions.streamingml.clusters import (
    Point,
    heaviest_apart,
    nearest,
    settled,
)
from lockstep.stream_functions.streamingml.written import read, written

SEED: Final = 0
DEPTH_MAX: Final = 12
"""Of a tree, in splits above each other."""
MICRO_CLUSTERS_MAX: Final = 50
"""Of which macro clusters are made. Which of them fits is asked for every event."""
_NEVER: Final = 2**62
_FORM: Final = river_version.rpartition(".")[0]
"""Releases of river in which models look the same."""

_DRAWS: Final[tuple[type, ...]] = (type(tree.HoeffdingAdaptiveTreeClassifier(seed=SEED)._rng),)
"""What river draws with."""
_DETECTORS: Final[tuple[Any, ...]] = (drift.NoDrift, drift.ADWIN, drift.PageHinkley)


def kept(model: Any) -> PlainState:
    """A model of river for a snapshot. Of what can draw only the model's own is kept: river gives
    one to each of its distributions, seeded by chance, from which nothing is ever drawn."""
    drawing = getattr(model, "_rng", None)
    return (_FORM, written("river", model, () if drawing is None else (drawing,)))


def put_back(state: PlainState) -> Any:
    """It, again. SnapshotError where another release has written it."""
    form, content = state
    if form != _FORM:
        raise SnapshotError(
            f"the state holds a model of river {form}, and here is river {_FORM}",
            hint="install the release that wrote it, or replay the log from the start",
        )
    return read("river", content, _DRAWS)


def _row(features: Sequence[float]) -> dict[int, float]:
    return dict(enumerate(features))


class HoeffdingTree:
    """Tells the class of numbers. `correct` of `seen` labels were told before they were learned."""

    def __init__(
        self,
        classes: int,
        grace_period: int = 200,
        criterion: int = 0,
        confidence: float = 1e-7,
        tie: float = 0.05,
        binary: bool = False,
        prune: bool = False,
        strategy: int = 2,
    ) -> None:
        self._most = classes
        self._labels: list[str] = []
        self._correct = self._seen = 0
        self._tree: Any = tree.HoeffdingAdaptiveTreeClassifier(
            grace_period=grace_period,
            max_depth=DEPTH_MAX,
            split_criterion=("info_gain", "gini")[criterion],
            delta=confidence,
            tau=tie,
            leaf_prediction=("mc", "nb", "nba")[strategy],
            binary_split=binary,
            merit_preprune=prune,
            memory_estimate_period=_NEVER,
            seed=SEED,
        )

    def learn(self, features: Sequence[float], label: str) -> float:
        """The share of labels so far that were told before they were learned."""
        if label not in self._labels:
            if len(self._labels) == self._most:
                raise EventError(
                    f"{label!r} is a new class, and the model has {self._most} already"
                )
            self._labels.append(label)
        told, _ = self.tell(features)
        self._seen += 1
        self._correct += told == label
        self._tree.learn_one(_row(features), self._labels.index(label))
        return self._correct / self._seen

    def tell(self, features: Sequence[float]) -> tuple[str | None, float | None]:
        """The class and how probable it is; nothing as long as nothing was learned."""
        votes = self._tree.predict_proba_one(_row(features))
        if not votes:
            return None, None
        best = max(votes, key=lambda each: (votes[each], -each))
        whole = math.fsum(votes.values())
        return self._labels[best], float(votes[best] / whole) if whole else 0.0

    def snapshot(self) -> PlainState:
        """The tree, the labels, and the share."""
        return (list(self._labels), self._correct, self._seen, kept(self._tree))

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        labels, self._correct, self._seen, content = state
        self._labels = list(labels)
        self._tree = put_back(content)


class _Scale:
    """Numbers by how far they are from the mean, in standard deviations, 3 at most. So one step
    fits all features, and rules split a number at as many places whatever its unit is."""

    def __init__(self, features: int) -> None:
        self.count = 0
        self.means = [0.0] * features
        self.squares = [0.0] * features

    def learn(self, features: Sequence[float]) -> None:
        self.count += 1
        for place, value in enumerate(features):
            off = value - self.means[place]
            self.means[place] += off / self.count
            self.squares[place] += off * (value - self.means[place])

    def row(self, features: Sequence[float]) -> dict[int, float]:
        found = {}
        for place, mean in enumerate(self.means):
            deviation = math.sqrt(self.squares[place] / self.count) if self.count else 0.0
            off = (features[place] - mean) / deviation if deviation else 0.0
            found[place] = max(-3.0, min(3.0, off))
        return found


class Rules:
    """Tells a number by others. `_error`: the sum of the squares of what it was off, before it
    learned."""

    def __init__(
        self,
        features: int,
        confidence: float = 1e-7,
        tie: float = 0.05,
        grace_period: int = 200,
        detector: int = 2,
        anomalies: int = 2,
    ) -> None:
        step = 0.1 / (features + 1)  # with numbers of 3 at most no step grows
        # A single feature river splits without a test: a second one that never changes mends that.
        self._scale = _Scale(features + (features == 1))
        self._error = 0.0
        self._rules: Any = rules.AMRules(
            n_min=max(2, grace_period),
            delta=confidence,
            tau=tie,
            pred_model=linear_model.LinearRegression(optim.SGD(step), intercept_lr=step),
            splitter=tree.splitter.QOSplitter(radius=0.25),
            drift_detector=_DETECTORS[detector](),
            anomaly_threshold=-0.75 if anomalies else -math.inf,
        )

    def learn(self, features: Sequence[float], target: float) -> float:
        """The mean squared error so far."""
        told = self._told(features)
        self._scale.learn(features)
        self._error += (target - told) ** 2
        self._spare_what_is_the_same()
        self._rules.learn_one(self._scale.row(features), target)
        # river names a new rule by where it is in memory: another replica has it elsewhere.
        self._rules._rules = dict(enumerate(self._rules._rules.values()))
        return self.error

    @property
    def error(self) -> float:
        """The mean squared error so far, 0 where nothing was learned."""
        return self._error / self._scale.count if self._scale.count else 0.0

    def tell(self, features: Sequence[float]) -> tuple[float | None, float]:
        """The number, none as long as nothing was learned, and the mean squared error so far."""
        return self._told(features) if self._scale.count else None, self.error

    def _spare_what_is_the_same(self) -> None:
        """Where all targets were one number there is nothing to split, and river would divide by
        their variance."""
        for rule in (self._rules._default_rule, *self._rules._rules.values()):
            if rule.statistics.get() == 0.0:
                rule._last_expansion_attempt_at = rule.total_weight

    def _told(self, features: Sequence[float]) -> float:
        return float(self._rules.predict_one(self._scale.row(features)))

    def snapshot(self) -> PlainState:
        """The rules, the scale and the error."""
        scale = (self._scale.count, list(self._scale.means), list(self._scale.squares))
        return (scale, self._error, kept(self._rules))

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        (count, means, squares), self._error, content = state
        self._scale.count, self._scale.means, self._scale.squares = (
            count,
            list(means),
            list(squares),
        )
        self._rules = put_back(content)


class MicroClusters:
    """Clusters of clusters: small ones that follow the events and fade, and of these the centroids,
    computed anew after every `every` events."""

    def __init__(
        self,
        clusters: int,
        iterations: int = 40,
        every: int = 100,
        height: int = 8,
        horizon: int = 1000,
    ) -> None:
        self._clusters = clusters
        self._iterations = iterations
        self._every = every
        self._seen = 0
        self._centroids: list[Point] = []
        micro = max(clusters, min(MICRO_CLUSTERS_MAX, 3 ** min(height, 9)))
        self._micro: Any = cluster.CluStream(
            n_macro_clusters=clusters,
            max_micro_clusters=micro,
            time_window=horizon,
            time_gap=_NEVER,
            seed=SEED,
        )

    def learn(self, point: Point) -> None:
        """An event."""
        self._seen += 1
        self._micro.learn_one(_row(point))
        if self._seen % self._every == 0:
            found = list(self._micro.micro_clusters.values())
            points = [tuple(map(float, each.center.values())) for each in found]
            weights = [float(each.weight) for each in found]
            seeds = heaviest_apart(points, weights, self._clusters)
            self._centroids, _ = settled(seeds, points, weights, self._iterations)

    def centroid(self, point: Point) -> Point | None:
        """The nearest one; none before they were computed."""
        return self._centroids[nearest(self._centroids, point)] if self._centroids else None

    def snapshot(self) -> PlainState:
        """The small clusters, the centroids, and how many events came."""
        return (self._seen, list(self._centroids), kept(self._micro))

    def restore(self, state: PlainState) -> None:
        """Takes them over."""
        self._seen, centroids, content = state
        self._centroids = [tuple(each) for each in centroids]
        self._micro = put_back(content)
