"""What is said of a past that is folded, also by the next leader."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lockstep.clock import VirtualClock
from lockstep.control import PAST_DONE, PastStatus
from lockstep_services.processor.revise.past_account import PastAccount


def test_the_next_leader_counts_on_from_what_was_kept() -> None:
    """Also the time; what it has to do is its own."""
    clock, running = VirtualClock(), SimpleNamespace(past=None)
    its: Any = running
    account = PastAccount(its, clock, PastStatus(5, up_to=90, results="here"))
    kept = PastStatus(4, position=50, up_to=60, events=40, rows=7, took_ms=900, results="there")
    account.go_on(kept, 50)
    account.count(70, 95, events=20, rows=1)
    account.tell(PAST_DONE, 95)
    assert account.status == PastStatus(
        5, PAST_DONE, 95, 95, events=60, rows=8, took_ms=900, results="here", kept_to=50,
        resumed_from=50, resumed_events=40,
    )  # fmt: skip
