"""Pending timers of many owners as a heap: rows of (due time, number of the request, owner), by due
time, then by number, as the reference's scheduler has them."""

from __future__ import annotations

from typing import Any

from lockstep.columns.compiled import kernel


@kernel
def push(heap: Any, size: int, due: int, number: int, owner: int) -> int:
    """Adds a timer, for which there is room; gives how many there are."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if heap[above, 0] < due or (heap[above, 0] == due and heap[above, 1] <= number):
            break
        heap[at, 0], heap[at, 1], heap[at, 2] = heap[above, 0], heap[above, 1], heap[above, 2]
        at = above
    heap[at, 0], heap[at, 1], heap[at, 2] = due, number, owner
    return size + 1


@kernel
def pop(heap: Any, size: int) -> int:
    """Takes the first timer out; gives how many are left."""
    size -= 1
    due, number, owner = heap[size, 0], heap[size, 1], heap[size, 2]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= size:
            break
        other = below + 1
        if other < size and (
            heap[other, 0] < heap[below, 0]
            or (heap[other, 0] == heap[below, 0] and heap[other, 1] < heap[below, 1])
        ):
            below = other
        if due < heap[below, 0] or (due == heap[below, 0] and number <= heap[below, 1]):
            break
        heap[at, 0], heap[at, 1], heap[at, 2] = heap[below, 0], heap[below, 1], heap[below, 2]
        at = below
    heap[at, 0], heap[at, 1], heap[at, 2] = due, number, owner
    return size
