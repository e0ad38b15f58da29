"""Keeps Python's cycle collector away from state that lives on.

Spark's worker process runs a full collection after every task. With an app's libraries and state
loaded that walks half a million objects, 100 ms and more, in which the next slice waits. So what is
there at the end of a task is set aside, and looked through again once in many tasks, and when
states are gone: what an app is made of has cycles, and what it had of blocks hangs on them.
"""

from __future__ import annotations

import gc
import itertools

FULL_EVERY_TASKS = 4_096
"""How often cycles among long-lived objects are looked for; what the app itself makes has none."""

_tasks = itertools.count(1)


def settle(*, is_full: bool = False) -> None:
    """Behind the answers of a task: cycles that it left go now, what survives it is set aside.
    `is_full`: cycles among what was set aside go, too."""
    if next(_tasks) % FULL_EVERY_TASKS == 0 or is_full:
        gc.unfreeze()
        gc.collect()
    else:
        gc.collect(1)
    gc.freeze()
