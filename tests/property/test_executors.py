"""Random apps on random logs: the columnar executor brings exactly what the reference brings,
however the log is cut, and whoever's snapshot it goes on from."""

from __future__ import annotations

from random import Random

from hypothesis import event, given, settings
from hypothesis import strategies as st

from lockstep.execute.columnar import NotColumnar, Unfit
from lockstep.plan import build
from lockstep.siddhiql import check
from tests.property.executors_model import Apps, cut, entries, fold, fold_hopping


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_columns_bring_what_the_reference_brings(seed: int) -> None:
    """Rows, identities and every chunk of every stream and query."""
    random = Random(seed)
    text = Apps(random).app()
    plan = build(check(text))
    log = entries(random, 40, in_event_time=plan.checked.is_playback)
    whole = fold(plan, [log], columnar=False)
    assert fold(plan, [[entry] for entry in log], columnar=False) == whole, text
    try:
        brought = fold(plan, cut(random, log), columnar=True)
        hopped = fold_hopping(plan, cut(random, log), random)
    except (NotColumnar, Unfit) as why:
        event(f"{type(why).__name__}")
        return
    event("columnar")
    assert whole[2] == 0, "a fault that the columns did not see"
    assert brought == whole, text
    assert hopped == whole, text
