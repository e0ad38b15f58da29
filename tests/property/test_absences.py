"""Random chains that end with `-> not X for t`, and absences in all other places: columns bring
what the reference brings, however the log is cut, and whoever's snapshot they go on from."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from lockstep.execute.columnar import lowering_of
from lockstep.plan import build
from lockstep.siddhiql import check
from tests.property.amount import examples
from tests.property.executors_absences import waiting
from tests.property.executors_model import (
    DEFINITIONS,
    Apps,
    assembled,
    compared,
    entries,
    fold,
)

pytestmark = pytest.mark.usefixtures("compiled")
RULE = "pattern chain that ends with an absence"
_ALONE = ("", "", "i > 2", "i < 6", "s != 'b'", "d is null")
_COMPARED = (
    *("s == {0}.s", "i == {0}.i", "s == {0}.s and i == {0}.i"),
    *("{0}.i <= i", "s != {0}.s", "d >= {0}.i", "d == {0}.d", "i + 1 == {0}.i"),
    *("not (s == {0}.s)", "not ({0}.i != i)"),
)
_BEHIND = (
    "",
    "from O#window.length(2) select a1, count() as n insert into P;",
    "from O#window.timeBatch(100) select a1, count() as n insert into P;",
    "from every x=S -> y=O[a0 == x.i] select x.i as i, y.a0 as b insert into P;",
)


def _condition(random: Random, bound: list[str]) -> str:
    """A filter or none: on the event alone, on one that is bound, or on both."""
    parts = [random.choice(_ALONE)]
    if bound and random.random() < 0.7:
        parts.append(random.choice(_COMPARED).format(random.choice(bound)))
    both = " and ".join(filter(None, parts))
    return f"[{both}]" if both else ""


def _app(random: Random) -> str:
    """One such chain, in a partition or not, and perhaps what reads it."""
    chain, bound = "", list[str]()
    for number in range(random.choice((1, 1, 2, 3))):
        before = " -> " if number else "every "
        chain += f"{before}e{number}={random.choice('SSR')}{_condition(random, bound)}"
        bound.append(f"e{number}")
    wait_ms = random.choice((1, 50, 100, 200, 400))
    chain += f" -> not {random.choice('SSR')}{_condition(random, bound)} for {wait_ms} milliseconds"
    items = [f"{random.choice(bound)}.{name} as a{n}" for n, name in enumerate("isid")]
    items.append(random.choice(("count() as c", "sum(e0.i) as c", "e0.s as c")))
    ending = random.choice(("", " group by e0.s")) + random.choice(("", " having a0 > 1"))
    query = f"from {chain} select {', '.join(items)}{ending} insert into O;"
    head = random.choice(("", "@app:playback\n")) + DEFINITIONS
    if random.random() < 0.6:
        return f"{head}{query} {random.choice(_BEHIND)}"
    keys = f"{random.choice('si')} of S, {random.choice('si')} of R"
    if random.random() < 0.3:
        query = (
            query.replace("into O", "into #I") + "from #I select a1, count() as k insert into O;"
        )
    return f"{head}partition with ({keys}) begin {query} end;"


@settings(max_examples=examples(80), deadline=None)
@given(st.integers(0, 2**32))
def test_columns_bring_what_the_reference_brings(seed: int) -> None:
    """Rows, identities, and every chunk in its place."""
    random = Random(seed)
    text = _app(random)
    note(text)
    plan = build(check(text))
    assert RULE in [choice.rule for choice in lowering_of(plan).choices]
    log = entries(random, 60, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    assert compared(plan, log, whole, random) == "columnar"


@settings(max_examples=examples(200), deadline=None)
@given(st.integers(0, 2**32))
def test_absences_anywhere(seed: int) -> None:
    """At the beginning, in the middle, beside `and` and `or`, with `within`, in sequences."""
    random = Random(seed)
    head = random.choice(("", "@app:playback\n"))
    text = assembled(head, [waiting(Apps(random))])
    note(text)
    plan = build(check(text))
    assert lowering_of(plan).is_columnar
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    event(compared(plan, log, whole, random))


def test_most_of_them_match() -> None:
    """What is drawn brings rows, or nothing was compared."""
    matching = 0
    for seed in range(20):
        random = Random(seed)
        plan = build(check(_app(random)))
        log = entries(random, 60, in_event_time=plan.checked.is_playback)
        matching += bool(fold(plan, [log], columnar=False)[1])
    assert matching > 10
