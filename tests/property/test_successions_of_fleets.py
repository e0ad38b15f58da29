"""Random apps that run as fleets and get another text while they run: what stays goes on as it does
in an app of one unit, wherever it stands in the text and in however many partitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.succession import succeed
from lockstep.fleet.renaming import losses_of_layout
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.siddhiql import SiddhiQLError
from tests.property.amount import examples
from tests.property.planned_fleets_model import Planned, by_group
from tests.unit.services.processor.layouts import PLANS, Layout

_OF_TABLES: Final = re.compile(r"\bT\d\b")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_what_stays_in_the_text_of_a_fleet_goes_on(seed: int) -> None:
    """Nothing has a name. What is cut otherwise than before begins empty, and that is said, before
    it is deployed as well."""
    random = Random(seed)
    drawn = Planned(random)
    lines = drawn.text.splitlines()
    head = [line for line in lines if not line.startswith(("from ", "partition "))]
    # Without what deletes from it, a table may grow without end. Tables have names, anyway.
    parts = [line for line in lines if line not in head and not _OF_TABLES.search(line)]
    try:
        old, new = (_some_of(random, head, parts) for _ in range(2))
    except SiddhiQLError as refused:
        event(f"no app: {refused.message}")
        return
    note(old.text)
    note(new.text)
    log = drawn.log(40)
    middle = random.randint(1, len(log) - 1)

    before = ReferenceExecutor(old)
    before.run_slice(log[:middle])
    succeeded = succeed(old, before.snapshot(), new)
    after = ReferenceExecutor(new)
    after.restore(succeeded.snapshot)
    wanted = after.run_slice(log[middle:]).rows

    former = Layout(old.text, random.randint(1, 4))
    former.fold(log[:middle])
    layout = Layout(new.text, random.randint(1, 4))
    lost = {*layout.begin_behind(former)}
    texts = [group.text for group in former.fleet.groups]
    assert lost <= {*losses_of_layout(old, texts, layout.fleet, PLANS.of)}
    if not lost <= {*succeeded.lost}:
        event("cut otherwise")
        return
    event("one unit" if layout.fleet.is_single else "a fleet")
    cut = fleet_of(new, 3)
    assert by_group(layout.fold(log[middle:]), cut) == by_group(wanted, cut)


def _some_of(random: Random, head: Sequence[str], parts: Sequence[str]) -> AppPlan:
    """An app of most of these parts, in any order; of all, where others read what a missing one
    would write."""
    kept = [part for part in parts if random.random() < 0.75]
    for chosen in (kept, list(parts)):
        random.shuffle(chosen)
        try:
            return plan_of("\n".join([*head, *chosen, ""]))
        except SiddhiQLError as error:
            refused = error
    raise refused
