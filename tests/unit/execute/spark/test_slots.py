"""Where states of apps go: level over the slots, and no app in more of them than it may have."""

from __future__ import annotations

import random

import pytest

from lockstep.execute.spark.slots import Slots, Use, tasks_max_of

pytestmark = pytest.mark.unit


def test_states_are_level_over_all_slots() -> None:
    """Without a limit each state goes where there are fewest."""
    slots = Slots(3)
    assert [slots.take(Use("a")) for _ in range(4)] == [0, 1, 2, 0]
    slots.give_back(Use("a"), 1)
    assert slots.take(Use("b")) == 1


def test_an_app_with_a_limit_stays_in_its_slots() -> None:
    """Six states of it are in two slots, and another app has the others for itself."""
    slots = Slots(4)
    assert [slots.take(Use("greedy", 2)) for _ in range(6)] == [0, 1, 0, 1, 0, 1]
    assert [slots.take(Use("small")) for _ in range(4)] == [2, 3, 2, 3]


def test_parts_of_one_state_are_apart() -> None:
    """Within the limit, each part has a slot of its own."""
    slots = Slots(4)
    assert slots.take(Use("a", 2)) == 0
    assert slots.take(Use("a", 2), avoid=[0]) == 1
    assert slots.take(Use("a", 2), avoid=[0]) == 1
    assert slots.take(Use("a", 2), avoid=[0, 1]) == 0


def test_slots_that_are_given_back_are_free_for_others() -> None:
    """An app that is gone may come again elsewhere."""
    slots = Slots(2)
    use = Use("a", 1)
    assert slots.take(use) == 0
    slots.give_back(use, 0)
    assert slots.take(Use("b")) == 0
    assert slots.take(use) == 1


def test_a_lower_limit_holds_for_new_states() -> None:
    """Old ones stay; new ones go where most of the old ones are."""
    slots = Slots(3)
    for _ in range(4):
        slots.take(Use("a"))
    assert [slots.take(Use("a", 1)) for _ in range(3)] == [0, 0, 0]


@pytest.mark.parametrize(("most", "expected"), [(None, 4), (2, 2), (9, 4)])
def test_a_limit_is_at_most_what_there_is(most: int | None, expected: int) -> None:
    """Without a limit an app can be in all slots."""
    assert Slots(4).most(Use("a", most)) == expected


@pytest.mark.parametrize("seed", range(20))
def test_no_order_of_coming_and_going_breaks_the_limit(seed: int) -> None:
    """Apps with limits of their own come and go at random: each is within its limit, always."""
    draw = random.Random(seed)
    slots = Slots(draw.randint(1, 6))
    uses = [Use(f"app-{n}", draw.choice([None, 1, 2, 3])) for n in range(4)]
    there: list[tuple[Use, int]] = []
    for _ in range(300):
        if there and draw.random() < 0.45:
            use, slot = there.pop(draw.randrange(len(there)))
            slots.give_back(use, slot)
        else:
            use = draw.choice(uses)
            there.append((use, slots.take(use)))
        for use in uses:
            assert len({slot for other, slot in there if other == use}) <= slots.most(use)


@pytest.mark.parametrize(
    ("asked", "allowed", "expected"),
    [(None, 0, None), (3, 0, 3), (None, 2, 2), (3, 2, 2), (1, 2, 1)],
)
def test_the_lower_of_what_is_asked_and_allowed(
    asked: int | None, allowed: int, expected: int | None
) -> None:
    """An app may ask for less than it may have, and gets no more."""
    assert tasks_max_of(asked, allowed) == expected
