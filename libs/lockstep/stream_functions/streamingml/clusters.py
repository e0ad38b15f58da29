"""Centroids: the points that a number of clusters have in their middle. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

Point = tuple[float, ...]


def nearest(centroids: Sequence[Point], point: Point) -> int:
    """The place of the nearest centroid; of several the first."""
    distances = [math.dist(centroid, point) for centroid in centroids]
    return distances.index(min(distances))


def settled(
    seeds: Sequence[Point], points: Sequence[Point], weights: Sequence[float], iterations: int
) -> tuple[list[Point], set[int]]:
    """Where the centroids come to rest, after so many iterations at most, and which of them have
    points. One that has none stays where it is."""
    centroids = list(seeds)
    taken: set[int] = set()
    for _ in range(iterations):
        owners = [nearest(centroids, point) for point in points]
        taken = set(owners)
        moved = list(centroids)
        for place in taken:
            own = [i for i, owner in enumerate(owners) if owner == place]
            whole = math.fsum(weights[i] for i in own)
            moved[place] = tuple(
                math.fsum(points[i][axis] * weights[i] for i in own) / whole
                for axis in range(len(centroids[place]))
            )
        if moved == centroids:
            break
        centroids = moved
    return centroids, taken


class KMeans:
    """Centroids that follow the points: `decay` says how far, from 0 (not at all) to 1."""

    def __init__(self, clusters: int, decay: float, iterations: int) -> None:
        self._clusters = clusters
        self._decay = decay
        self._iterations = iterations
        self.centroids: list[Point] = []

    def learn(self, points: Sequence[Point]) -> None:
        """Takes a batch. As long as there are fewer centroids than clusters, new points become
        centroids."""
        is_first = not self.centroids
        for point in points:
            if len(self.centroids) == self._clusters:
                break
            if point not in self.centroids:
                self.centroids.append(point)
        if len(self.centroids) < self._clusters:
            return
        weights = [1.0] * len(points)
        found, taken = settled(self.centroids, points, weights, self._iterations)
        decay = 1.0 if is_first else self._decay
        for place in taken:
            self.centroids[place] = tuple(
                (1 - decay) * old + decay * new
                for old, new in zip(self.centroids[place], found[place], strict=True)
            )


def heaviest_apart(points: Sequence[Point], weights: Sequence[float], count: int) -> list[Point]:
    """Seeds: the heaviest point, then always the one that is farthest from all seeds."""
    first = max(range(len(points)), key=lambda i: weights[i])
    seeds = [points[first]]
    while len(seeds) < count:
        far = [min(math.dist(seed, point) for seed in seeds) for point in points]
        widest = max(far)
        if widest == 0:
            break
        seeds.append(points[far.index(widest)])
    return seeds
