"""What the models have learned, and what must not break them (extensions 23)."""

from __future__ import annotations

from random import Random

import pytest

from lockstep.stream_functions.streamingml.bayes import Classes, Line
from lockstep.stream_functions.streamingml.learners import (
    MICRO_CLUSTERS_MAX,
    HoeffdingTree,
    MicroClusters,
    Rules,
)


def test_a_tree_finds_a_class_that_hangs_on_two_features() -> None:
    """And another rule, when it changes."""
    random = Random(1)
    tree = HoeffdingTree(2, grace_period=20, confidence=0.01)

    def teach(events: int, low: str, high: str) -> None:
        for _ in range(events):
            row = (random.random(), random.random())
            tree.learn(row, high if row[0] > 0.5 and row[1] > 0.3 else low)

    teach(1500, "no", "yes")
    assert tree.tell((0.9, 0.9))[0] == "yes"
    assert tree.tell((0.9, 0.1))[0] == tree.tell((0.1, 0.9))[0] == "no"
    teach(3000, "yes", "no")
    assert tree.tell((0.9, 0.9))[0] == "no"


@pytest.mark.parametrize("unit", [0.001, 1.0, 1000.0])
def test_rules_fit_features_of_any_unit(unit: float) -> None:
    """A line on each side of a step."""
    random = Random(2)
    rules = Rules(2, confidence=0.01, grace_period=50)
    for _ in range(2500):
        row = (random.random() * unit, random.random() * unit)
        rules.learn(row, 3 * row[0] / unit + (10 if row[1] > 0.5 * unit else 0))
    assert rules.tell((0.5 * unit, 0.9 * unit))[0] == pytest.approx(11.5, abs=1)
    assert rules.tell((0.5 * unit, 0.1 * unit))[0] == pytest.approx(1.5, abs=1)


@pytest.mark.parametrize("features", [1, 2])
def test_rules_learn_what_never_changes(features: int) -> None:
    """One target, one feature, or all the same: nothing to split by is no error."""
    rules = Rules(features, confidence=0.5, tie=0.9, grace_period=1)
    for number in range(30):
        rules.learn((number % 3,) * features, 7.0)
    assert rules.tell((1.0,) * features)[0] == pytest.approx(7.0)
    for number in range(30):
        rules.learn((2.0,) * features, number)
    assert rules.error > 0


def test_small_clusters_are_not_many() -> None:
    """However high the tree may be. The centroids follow what moves away."""
    random = Random(3)
    found = MicroClusters(2, every=50, height=9, horizon=100)
    for number in range(400):
        found.learn((random.random() + 100 * (number % 2), random.random()))
    assert len(found._micro.micro_clusters) == MICRO_CLUSTERS_MAX
    near = found.centroid((100.0, 0.0))
    assert near is not None
    assert near == pytest.approx((100.5, 0.5), abs=0.3)


def test_a_line_is_surer_near_what_it_knows() -> None:
    """y = 2 x - 3, with a little noise."""
    random = Random(4)
    line = Line(1)
    assert line.tell((1.0,)) == (None, None)
    for _ in range(200):
        x = random.random()
        line.learn((x,), 2 * x - 3 + random.gauss(0, 0.1))
    told, sure = line.tell((0.5,))
    far, unsure = line.tell((50.0,))
    assert told == pytest.approx(-2, abs=0.05)
    assert far == pytest.approx(97, abs=3)
    assert sure is not None
    assert unsure is not None
    assert sure == pytest.approx(10, rel=0.3)
    assert unsure < sure / 3


def test_classes_by_where_their_rows_are() -> None:
    """Two normal distributions; one that was seen once is a class, too."""
    random = Random(5)
    classes = Classes(1, 3)
    for _ in range(100):
        classes.learn((random.gauss(0, 1),), "low")
        classes.learn((random.gauss(10, 1),), "high")
    assert classes.tell((1.0,))[0] == "low"
    assert classes.tell((9.0,))[0] == "high"
    classes.learn((1000.0,), "far")
    assert classes.tell((1000.0,))[0] == "far"
