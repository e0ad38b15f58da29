"""`#geo:`: what moving objects do. Events that bring no news are not passed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.functions.geo import shapes
from lockstep.functions.geo.meaning import placed_by
from lockstep.operators.contract import StreamEvent
from lockstep.stream_functions.call import (
    Appending,
    StreamCall,
    StreamFunctionFactory,
    StreamLink,
)
from lockstep.stream_functions.geo.approximate import LocationApproximate
from lockstep.stream_functions.geo.followed import KEEP_MS, Following, id_text


def _shape_at(call: StreamCall, at: int) -> tuple[int, Callable[[StreamEvent], Any]]:
    """Where the argument behind a place or geometry stands, and what gives the event's shape."""
    taken, make = placed_by(call.arguments, at)
    values = call.values[at : at + taken]
    return at + taken, lambda event: make(*(value(event) for value in values))


class Crosses(Following):
    """`crosses` is true when an object comes into the fence, false when it leaves it."""

    def __init__(self, call: StreamCall) -> None:
        behind, self._shape_of = _shape_at(call, 1)
        keep_at, self._fence_of = _shape_at(call, behind)
        super().__init__(call, int(call.constant(keep_at, KEEP_MS)))
        self._id_of = call.values[0]

    def seen(self, event: StreamEvent) -> list[tuple[Any, ...]]:
        id_ = id_text(self._id_of(event))
        is_in = shapes.within(self._shape_of(event), self._fence_of(event))
        was_in = id_ in self.known
        if is_in:
            self.remember(id_, True)
        else:
            self.drop(id_)
        return [] if is_in == was_in else [(is_in,)]


class Stationary(Following):
    """`stationary` is true when an object stays within the radius around where it was, false when
    it leaves that."""

    def __init__(self, call: StreamCall) -> None:
        behind, self._shape_of = _shape_at(call, 1)
        super().__init__(call, int(call.constant(behind + 1, KEEP_MS)))
        self._id_of = call.values[0]
        self._radius = float(call.constant(behind))

    def seen(self, event: StreamEvent) -> list[tuple[Any, ...]]:
        id_, shape = id_text(self._id_of(event)), self._shape_of(event)
        before = self.of(id_)
        if before is None:
            self.remember(id_, (shapes.packed(shape), False))
            return []
        anchor, was = before
        stays = shapes.near(shape, shapes.unpacked(anchor), self._radius)
        self.remember(id_, (anchor if stays else shapes.packed(shape), stays))
        return [] if stays == was else [(stays,)]


class Proximity(Following):
    """An event for each other object that the object came near to, or was near to and left."""

    def __init__(self, call: StreamCall) -> None:
        behind, self._shape_of = _shape_at(call, 1)
        super().__init__(call, int(call.constant(behind + 1, KEEP_MS)))
        self._id_of = call.values[0]
        self._radius = float(call.constant(behind))
        self._near: dict[str, set[str]] = {}

    def seen(self, event: StreamEvent) -> list[tuple[Any, ...]]:
        id_, shape = id_text(self._id_of(event)), self._shape_of(event)
        others = [other for other in self.known if other != id_]
        places = [self.known[other][1] for other in others]
        near = shapes.near_ones(shape, places, self._radius) if places else []
        was_near = self._near.get(id_, set())
        changes = [
            (other, is_near)
            for other, is_near in zip(others, near, strict=True)
            if is_near != (other in was_near)
        ]
        self.remember(id_, shape)
        for other, is_near in changes:
            self._link(id_, other, is_near=is_near)
        return changes

    def _link(self, one: str, other: str, *, is_near: bool) -> None:
        for a, b in ((one, other), (other, one)):
            if is_near:
                self._near.setdefault(a, set()).add(b)
            else:
                self._near[a].discard(b)
                if not self._near[a]:
                    del self._near[a]

    def drop(self, id_: str) -> None:
        super().drop(id_)
        for other in list(self._near.get(id_, ())):
            self._link(id_, other, is_near=False)

    def snapshot(self) -> Any:
        """Objects with their shapes, and the pairs that are near, sorted."""
        pairs = sorted((a, b) for a, others in self._near.items() for b in others if a < b)
        return [
            [(id_, (ms, shapes.packed(shape))) for id_, (ms, shape) in self.known.items()],
            pairs,
        ]

    def restore(self, state: Any) -> None:
        objects, pairs = state
        unpacked = shapes.unpacked
        self.known = {id_: (heard_ms, unpacked(shape)) for id_, (heard_ms, shape) in objects}
        self._near = {}
        for one, other in pairs:
            self._link(one, other, is_near=True)


def _closest_points(call: StreamCall) -> StreamLink:
    behind, shape_of = _shape_at(call, 0)
    _, fence_of = _shape_at(call, behind)
    is_exchanged = call.context.is_siddhi_5_1

    def append(event: StreamEvent) -> tuple[float, ...]:
        x1, y1, x2, y2 = shapes.closest(shape_of(event), fence_of(event))
        return (x1, y1, x2, y2) if is_exchanged else (y1, x1, y2, x2)

    return Appending(append)


STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("geo", "crosses"): Crosses,
    ("geo", "stationary"): Stationary,
    ("geo", "proximity"): Proximity,
    ("geo", "closestPoints"): _closest_points,
    ("geo", "locationApproximate"): LocationApproximate,
}
