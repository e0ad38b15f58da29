"""A flow drawn: its parts stay where they are, and only the figures that changed are sent anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from lockstep_services.console import figures
from lockstep_services.console.flow_layout import MAX_LINES, NODE_PX, Layout, shape_of
from lockstep_services.console.look import box, text

STATES: Final = ("ok", "idle", "lag", "trouble")
Json = Mapping[str, Any]


def rate(per_s: float | None) -> str:
    """In a second; what nobody counts is called so."""
    return "not counted" if per_s is None else f"{figures.count(per_s)}/s"


def look_of(edge: Json) -> str:
    """How an edge looks: one over which nothing passes is faint."""
    state = str(edge["state"])
    return "idle" if state == "ok" and not edge["per_s"] else state


def words_of(edge: Json) -> tuple[str, str]:
    """What stands at an edge: rate, and below what waits or how late it is. Trouble and lag are
    said in words, as not everybody tells colours apart."""
    if edge["state"] == "trouble":
        waits = f", {figures.count(edge['lag'])} wait" if edge["lag"] else ""
        return rate(edge["per_s"]), f"trouble{waits}"
    if edge["state"] == "lag":
        return rate(edge["per_s"]), f"late: {figures.count(edge['lag'])} wait"
    if edge["lag"]:
        return rate(edge["per_s"]), f"{figures.count(edge['lag'])} wait"
    late = edge["latency_p99_ms"]
    return rate(edge["per_s"]), "" if late is None else f"p99 {figures.duration(late)}"


def lines_of(group: Json) -> list[str]:
    """Who leads each partition and what it takes; of many the last line tells how many more."""
    partitions = group["partitions"]
    lines = [_line(one) for one in partitions[:MAX_LINES]]
    more = len(partitions) - len(lines)
    return [*lines, f"and {more} more"] if more else lines


def _line(one: Json) -> str:
    if one["node"] is None:
        return f"{one['partition']}: nobody leads"
    said = f"{one['partition']}: {one['node']}, {figures.count(one['events_per_s'])} events/s"
    return f"{said}, lag {figures.count(one['lag'])}" if one["lag"] else said


class FlowGraph:
    """In a frame of its own, which scrolls. Colours come from the style sheet, so that light and
    dark need nothing here."""

    def __init__(self) -> None:
        with box("flow") as self._frame:
            self._frame.props('tabindex="0" role="img"')
        self._shape: object = None
        self._layout: Layout | None = None
        self._lines: ui.html | None = None
        self._labels: list[tuple[ui.element, TextElement, TextElement]] = []
        self._heads: list[list[TextElement]] = []
        self._looks: list[str] = []

    def show(self, flow: Json) -> None:
        """This from now on."""
        shape = shape_of(flow)
        if shape != self._shape:
            self._shape = shape
            self._build(flow)
        self._frame.props["aria-label"] = summary(flow)
        looks = [look_of(one) for one in flow["edges"]]
        if looks != self._looks and self._layout is not None and self._lines is not None:
            self._looks = looks
            self._lines.set_content(_drawn(self._layout, looks))
        for edge, (label, first, second) in zip(flow["edges"], self._labels, strict=True):
            _restate(label, look_of(edge))
            label.props["title"] = edge["trouble"] or ""
            above, below = words_of(edge)
            first.set_text(above)
            second.set_text(below)
        for group, head in zip(self._boxed(flow), self._heads, strict=True):
            for element, words in zip(head, lines_of(group), strict=True):
                element.set_text(words)

    def _boxed(self, flow: Json) -> Sequence[Json]:
        groups = {one["group"]: one for one in flow["groups"]}
        boxes = () if self._layout is None else self._layout.boxes
        return [groups[one.group] for one in boxes]

    def _build(self, flow: Json) -> None:
        layout = self._layout = Layout(flow)
        self._frame.clear()
        self._labels, self._heads, self._looks = [], [], []
        width, height = layout.size
        # The style sheet makes a wide graph smaller, down to where it can be read still.
        size = f"--flow-width:{width}px;width:{width}px;height:{height}px"
        with self._frame, box("flow-sheet").style(size):
            self._lines = ui.html("", sanitize=False).classes("flow-lines")
            for one in layout.boxes:
                with box("flow-box").style(
                    f"left:{one.x}px;top:{one.y}px;width:{one.width}px;height:{one.height}px"
                ):
                    text("b", f"group {one.group}")
                    self._heads.append([text("div") for _ in range(one.lines)])
            for node in flow["nodes"]:
                x, y = layout.spots[node["id"]]
                with box(f"flow-node is-{node['kind']}").style(
                    f"left:{x}px;top:{y}px;width:{NODE_PX[0]}px;height:{NODE_PX[1]}px"
                ):
                    text("b", node["name"])
                    text("span", node["detail"] or node["kind"])
            for curve in layout.curves:
                with box("flow-label").style(f"left:{curve.x}px;top:{curve.y}px") as label:
                    self._labels.append((label, text("b"), text("span")))


def _restate(label: ui.element, look: str) -> None:
    label.classes(add=look, remove=" ".join(one for one in STATES if one != look))


def _drawn(layout: Layout, looks: Sequence[str]) -> str:
    """Made of numbers and our own words alone."""
    width, height = layout.size
    heads = "".join(
        f'<marker id="flow-{look}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        f' markerHeight="7" orient="auto"><path class="{look}" d="M0 0L8 4L0 8z"/></marker>'
        for look in STATES
    )
    lines = "".join(
        f'<path class="line {look}" d="{curve.path}" marker-end="url(#flow-{look})"/>'
        for curve, look in zip(layout.curves, looks, strict=True)
    )
    return (
        f'<svg width="{width}" height="{height}" aria-hidden="true"><defs>{heads}</defs>'
        f"{lines}</svg>"
    )


def summary(flow: Json) -> str:
    """The graph in a sentence, for who does not see it."""
    edges = flow["edges"]
    late = sum(one["state"] == "lag" for one in edges)
    bad = sum(one["state"] == "trouble" for one in edges)
    return (
        f"Flow of {flow['app']}: {len(flow['nodes'])} parts, {len(edges)} edges, {late} late,"
        f" {bad} in trouble. The table below says the same."
    )
