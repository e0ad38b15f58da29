"""Where the parts of a flow stand: from the doors on the left to the sinks on the right, what a
group runs in a box of its own. Pure; it hangs on what there is, not on what passes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

NODE_PX: Final = (124, 46)
GAP_PX: Final = 92
"""Between two columns, where the figures of the edges stand."""
ROW_PX: Final = 76
LABEL_PX: Final = 34
PAD_PX: Final = 16
HEAD_PX: Final = 26
LINE_PX: Final = 17
MAX_LINES: Final = 6
"""So many partitions are named in a box; the table below names all."""
ENDS: Final = ("sink", "presenter")
ARCHIVE_OF_OUTPUT: Final = "archive:output"
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Box:
    """Around what a group runs, in pixels; `lines` stand in its head."""

    group: str
    x: int
    y: int
    width: int
    height: int
    lines: int


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge: its way as SVG has it, and the middle of its figures."""

    path: str
    x: int
    y: int


class Layout:
    """Of one flow."""

    def __init__(self, flow: Json) -> None:
        self._nodes = {one["id"]: one for one in flow["nodes"]}
        self._edges = [(one["from_node"], one["to_node"]) for one in flow["edges"]]
        self._groups = {one["group"]: len(one["partitions"]) for one in flow["groups"]}
        self._rows: dict[str, int] = {}
        self.boxes: list[Box] = []
        self._place()

    @cached_property
    def spots(self) -> dict[str, tuple[int, int]]:
        """The upper left corner of each node."""
        step = NODE_PX[0] + GAP_PX
        return {
            name: (PAD_PX + self._columns[name] * step, self._rows[name]) for name in self._nodes
        }

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of all."""
        width = max((x for x, _ in self.spots.values()), default=0) + NODE_PX[0]
        bottoms = [y + NODE_PX[1] for _, y in self.spots.values()]
        bottoms += [one.y + one.height for one in self.boxes]
        return width + 2 * PAD_PX, max(bottoms, default=0) + 2 * PAD_PX

    @cached_property
    def curves(self) -> list[Curve]:
        """Of the edges, in their order."""
        found = [self._curve(*edge) for edge in self._edges]
        return _apart(found)

    @cached_property
    def _columns(self) -> dict[str, int]:
        """Each behind all that lead to it, but for what leads back."""
        base = {name: self._least(one) for name, one in self._nodes.items()}
        before = self._neighbours(to_end=False)
        found: dict[str, int] = {}
        left = dict.fromkeys(self._nodes)
        while left:
            free = [one for one in left if all(each not in left for each in before[one])]
            for name in free or [next(iter(left))]:
                reached = (found[each] + 1 for each in before[name] if each in found)
                found[name] = max(reached, default=0)
                found[name] = max(found[name], base[name])
                del left[name]
        last = max((found[n] for n in self._nodes if n not in self._ends), default=0)
        return found | dict.fromkeys(self._ends, last + 1)

    @cached_property
    def _ends(self) -> list[str]:
        """What leads out of the app; not the archive of what has just come."""
        return [
            name for name, one in self._nodes.items()
            if one["kind"] in ENDS or name == ARCHIVE_OF_OUTPUT
        ]  # fmt: skip

    def _least(self, node: Json) -> int:
        if node["kind"] == "source":
            return 0
        return 1 if node["group"] is None else 2

    def _neighbours(self, *, to_end: bool) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self._nodes}
        for begin, end in self._edges:
            if begin != end:
                found[begin if to_end else end].append(end if to_end else begin)
        return found

    def _place(self) -> None:
        """The boxes below one another, then what leads into them, then what leads out."""
        top = 0
        for group, partitions in self._groups.items():
            members = [name for name, one in self._nodes.items() if one["group"] == group]
            if members:
                top = self._box(group, members, partitions, top) + PAD_PX
        loose = [name for name, one in self._nodes.items() if one["group"] is None]
        first = [name for name in loose if self._columns[name] == 1]
        rest = [name for name in loose if self._columns[name] > 1]
        self._column(first, self._neighbours(to_end=True), 0)
        self._column([n for n in loose if self._columns[n] == 0], self._neighbours(to_end=True), 0)
        ends = [name for name in rest if name in self._ends]
        for column in sorted({self._columns[name] for name in rest if name not in ends}):
            some = [name for name in rest if name not in ends and self._columns[name] == column]
            self._column(some, self._neighbours(to_end=False), top)
        self._column(ends, self._neighbours(to_end=False), 0)

    def _box(self, group: str, members: Sequence[str], partitions: int, top: int) -> int:
        """Places a group and its box; gives where that ends."""
        lines = min(partitions, MAX_LINES + 1)
        begin = top + HEAD_PX + lines * LINE_PX
        columns = sorted({self._columns[name] for name in members})
        before = self._neighbours(to_end=False)
        for column in columns:
            self._column([n for n in members if self._columns[n] == column], before, begin)
        bottom = max(self._rows[name] for name in members) + NODE_PX[1] + PAD_PX
        step = NODE_PX[0] + GAP_PX
        width = (columns[-1] - columns[0]) * step + NODE_PX[0] + 2 * PAD_PX
        self.boxes.append(Box(group, columns[0] * step, top, width, bottom - top, lines))
        return bottom

    def _column(self, names: Sequence[str], beside: Mapping[str, list[str]], top: int) -> None:
        """One below the other, each as near as it can be to those that it is tied to."""
        wish = {}
        for number, name in enumerate(names):
            there = [self._rows[each] for each in beside[name] if each in self._rows]
            wish[name] = (sum(there) / len(there) if there else float(top), number)
        below = top
        for name in sorted(names, key=lambda one: wish[one]):
            self._rows[name] = max(below, round(wish[name][0]))
            below = self._rows[name] + ROW_PX

    def _curve(self, begin: str, end: str) -> Curve:
        width, height = NODE_PX
        (x1, y1), (x2, y2) = self.spots[begin], self.spots[end]
        if x2 <= x1:  # it leads back
            a, b, low = x1 + width // 2, x2 + width // 2, max(y1, y2) + height + 44
            path = f"M{a} {y1 + height}C{a} {low} {b} {low} {b} {y2 + height}"
            return Curve(path, (a + b) // 2, low - 12)
        x1, y1, y2 = x1 + width, y1 + height // 2, y2 + height // 2
        bend = max(40, (x2 - x1) // 2)
        path = f"M{x1} {y1}C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}"
        is_next = x2 - x1 <= GAP_PX
        y = (y1 + y2) // 2 if is_next else round(y1 * 0.2 + y2 * 0.8)
        return Curve(path, x2 - GAP_PX // 2, y)


def _apart(curves: Iterable[Curve]) -> list[Curve]:
    """No figures of a column stand on others."""
    found = list(curves)
    below: dict[int, int] = {}
    for number in sorted(range(len(found)), key=lambda one: found[one].y):
        one = found[number]
        y = max(one.y, below.get(one.x, one.y))
        below[one.x] = y + LABEL_PX
        found[number] = Curve(one.path, one.x, y)
    return found


def shape_of(flow: Json) -> tuple[object, ...]:
    """Differs where the parts or the ways between them do."""
    nodes = tuple((one["id"], one["kind"], one["group"]) for one in flow["nodes"])
    edges = tuple((one["from_node"], one["to_node"]) for one in flow["edges"])
    return nodes, edges, tuple((one["group"], len(one["partitions"])) for one in flow["groups"])
