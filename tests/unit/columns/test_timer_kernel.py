"""The heap of pending timers."""

from __future__ import annotations

from random import Random

import numpy as np

from lockstep.columns.timer_kernel import pop, push


def test_timers_come_out_by_due_time_then_by_number() -> None:
    """However they went in, also while others go in; the same due times many times over."""
    random = Random(5)
    heap = np.zeros((400, 3), np.int64)
    size, inside, out = 0, [], []
    for number in range(400):
        due = random.randrange(20)
        size = push(heap, size, due, number, number * 7)
        inside.append((due, number, number * 7))
        if random.random() < 0.4:
            out.append((tuple(heap[0].tolist()), min(inside)))
            inside.remove(min(inside))
            size = pop(heap, size)
    while size:
        out.append((tuple(heap[0].tolist()), min(inside)))
        inside.remove(min(inside))
        size = pop(heap, size)
    assert [found for found, _ in out] == [expected for _, expected in out]
    assert len(out) == 400
