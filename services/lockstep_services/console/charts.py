"""Charts in the console's colours, light and dark: lines, bars, pies, gauges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nicegui import ui

from lockstep_services.console.look import box
from lockstep_services.console.shell import View

LIGHT: Final = ("#3550d4", "#c2630a", "#0e7a63", "#a8327a", "#6b46c1", "#4d6b0f")
DARK: Final = ("#8fa5ff", "#f2a65a", "#57d3b4", "#f08bc4", "#b79cf5", "#b5d65c")
Series = Sequence[tuple[str, Sequence[float | None]]]


def colours(*, is_dark: bool) -> Mapping[str, Any]:
    """What ECharts is told of the theme."""
    return {
        "ink": "#e7eaf0" if is_dark else "#171a21",
        "soft": "#9ba5b5" if is_dark else "#566072",
        "line": "#2a303b" if is_dark else "#e2e5eb",
        "panel": "#171b22" if is_dark else "#ffffff",
        "series": list(DARK if is_dark else LIGHT),
    }


def plain(data: Any) -> Any:
    """Data without any object in it. NiceGUI makes code of each key in a chart's options that
    begins with a colon, so none may come from rows: in the place of one stands None."""
    match data:
        case list() | tuple():
            return [plain(one) for one in data]
        case str() | int() | float():
            return data
        case _:
            return None


class Chart:
    """An ECharts panel; follows the theme."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._shown: Any = None
        with box("chart-box"):
            self._chart = ui.echart({"animation": False}).classes("chart")
        view.on_theme.append(lambda _: self._draw())

    def show(self, data: Any) -> None:
        """These values from now on."""
        if data != self._shown:
            self._shown = data
            self._draw()

    def _draw(self) -> None:
        if self._shown is None:
            return
        look = colours(is_dark=self._view.is_dark)
        options = {
            "animation": False, "color": look["series"], "textStyle": {"fontFamily": "inherit"},
            "tooltip": {
                "trigger": "axis", "backgroundColor": look["panel"], "borderColor": look["line"],
                "textStyle": {"color": look["ink"], "fontSize": 12}, "confine": True,
            },
            **self._options(plain(self._shown), look),
        }  # fmt: skip
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


def axis(look: Mapping[str, Any], kind: str, **more: Any) -> dict[str, Any]:
    """An axis that stays in the background."""
    return {
        "type": kind,
        "axisLine": {"show": kind == "category", "lineStyle": {"color": look["line"]}},
        "axisTick": {"show": False},
        "axisLabel": {"color": look["soft"], "fontSize": 11, "hideOverlap": True},
        "splitLine": {"show": kind != "category", "lineStyle": {"color": look["line"]}},
        **more,
    }


class Line(Chart):
    """Series over the seconds since the page was opened, the newest at the right."""

    def __init__(self, view: View, unit: str) -> None:
        super().__init__(view)
        self._unit = unit

    def show(self, data: Series) -> None:
        """These series from now on."""
        super().show([(name, list(values)) for name, values in data])

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        count = max((len(values) for _, values in data), default=0)
        labels = [f"{number - count + 1} s" for number in range(count)]
        return {
            "grid": {"left": 8, "right": 12, "top": 16, "bottom": 4, "containLabel": True},
            "xAxis": axis(look, "category", data=labels, boundaryGap=False),
            "yAxis": axis(look, "value", min=0, minInterval=1, splitNumber=3),
            "series": [
                {
                    "name": name, "type": "line", "data": values, "showSymbol": False,
                    "lineStyle": {"width": 2}, "areaStyle": {"opacity": 0.08},
                }
                for name, values in data
            ],
        }  # fmt: skip


class Times(Chart):
    """Series over the events' own time, in UTC."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "useUTC": True,
            "grid": {"left": 8, "right": 16, "top": 32 if len(data) > 1 else 12, "bottom": 4,
                     "containLabel": True},
            "legend": {"show": len(data) > 1, "left": 0, "top": 0, "icon": "roundRect",
                       "itemWidth": 10, "itemHeight": 10, "type": "scroll",
                       "textStyle": {"color": look["soft"], "fontSize": 12}},
            "xAxis": axis(look, "time", splitLine={"show": False}),
            "yAxis": axis(look, "value", scale=True, splitNumber=4),
            "series": [
                {"name": name, "type": "line", "data": points, "showSymbol": len(points) < 2,
                 "lineStyle": {"width": 2}}
                for name, points in data
            ],
        }  # fmt: skip


class Past(Chart):
    """Series over a time span, in UTC, with gaps where there is no value, and marks: dashed lines
    at times, with a word each that shows when one points at it."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        (from_ms, to_ms), series, marks = data
        lines = {
            "symbol": "none", "animation": False, "label": {"show": False},
            "emphasis": {"label": {"show": True, "formatter": "{b}", "color": look["ink"]}},
            "lineStyle": {"type": "dashed", "width": 1.5, "color": look["soft"]},
            "data": [{"name": word, "xAxis": at_ms} for at_ms, word in marks],
        }  # fmt: skip
        return {
            "useUTC": True,
            "grid": {"left": 8, "right": 16, "top": 32 if len(series) > 1 else 12, "bottom": 4,
                     "containLabel": True},
            "legend": {"show": len(series) > 1, "left": 0, "top": 0, "icon": "roundRect",
                       "itemWidth": 10, "itemHeight": 10, "type": "scroll",
                       "textStyle": {"color": look["soft"], "fontSize": 12}},
            "xAxis": axis(look, "time", min=from_ms, max=to_ms, splitLine={"show": False}),
            "yAxis": axis(look, "value", min=0, splitNumber=3),
            "series": [
                {"name": name, "type": "line", "data": points, "connectNulls": False,
                 "showSymbol": _stands_alone(points), "symbolSize": 5, "lineStyle": {"width": 2},
                 "markLine": lines if number == 0 else {}}
                for number, (name, points) in enumerate(series)
            ],
        }  # fmt: skip


def _stands_alone(points: Sequence[Sequence[float | None]]) -> bool:
    """Whether some point has none beside it: a line alone would not show it."""
    there = [False, *(value is not None for _, value in points), False]
    return any(
        here and not before and not after
        for before, here, after in zip(there, there[1:], there[2:], strict=False)
    )


MAX_LEVEL_LETTERS: Final = 32
"""So many stand side by side in a third of a page, the gaps between names as two each."""
MAX_LABELS: Final = 40
LABEL_PX: Final = 100
"""A longer name ends with an ellipsis: aslant it would take the height from the bars."""


def bar_names(look: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The axis below bars. All names are there, aslant where they do not fit side by side; of
    very many ECharts leaves some out, since they could not be read."""
    found = axis(look, "category", data=list(names))
    if len(names) > MAX_LABELS:
        return found
    every: dict[str, Any] = {"interval": 0, "hideOverlap": False}
    if sum(len(name) + 2 for name in names) > MAX_LEVEL_LETTERS:
        every |= {"rotate": 40, "width": LABEL_PX, "overflow": "truncate", "ellipsis": "…"}
    found["axisLabel"] |= every
    return found


class Bars(Chart):
    """A value for each name."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "grid": {"left": 8, "right": 12, "top": 12, "bottom": 4, "containLabel": True},
            "xAxis": bar_names(look, [name for name, _ in data]),
            "yAxis": axis(look, "value", splitNumber=4),
            "series": [{"type": "bar", "data": [value for _, value in data], "barMaxWidth": 44,
                        "itemStyle": {"borderRadius": [5, 5, 0, 0]}}],
        }  # fmt: skip


class Pie(Chart):
    """Shares."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "tooltip": {"trigger": "item", "backgroundColor": look["panel"],
                        "borderColor": look["line"], "textStyle": {"color": look["ink"]}},
            "series": [{
                "type": "pie", "radius": ["48%", "74%"], "center": ["50%", "50%"],
                "data": [{"name": name, "value": value} for name, value in data],
                "label": {"color": look["ink"], "fontSize": 12},
                "itemStyle": {"borderColor": look["panel"], "borderWidth": 2},
            }],
        }  # fmt: skip


class Gauge(Chart):
    """A value between a low and a high."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        value, low, high = data
        return {
            "tooltip": {"show": False},
            "series": [{
                "type": "gauge", "min": low, "max": high, "startAngle": 205, "endAngle": -25,
                "radius": "96%", "center": ["50%", "60%"],
                "progress": {"show": True, "width": 14, "roundCap": True},
                "axisLine": {"lineStyle": {"width": 14, "color": [[1, look["line"]]]},
                             "roundCap": True},
                "pointer": {"show": False}, "axisTick": {"show": False},
                "splitLine": {"show": False},
                "axisLabel": {"color": look["soft"], "fontSize": 11, "distance": -34},
                "splitNumber": 1,
                "detail": {"fontSize": 30, "fontWeight": 600, "color": look["ink"],
                           "offsetCenter": [0, "0%"], "valueAnimation": False},
                "data": [{"value": value}],
            }],
        }  # fmt: skip


class Map(Chart):
    """Points by longitude and latitude on a plain ground: tiles would need the internet."""

    def _options(self, data: Any, look: Mapping[str, Any]) -> dict[str, Any]:
        grid = {"show": True, "lineStyle": {"color": look["line"]}}
        return {
            "tooltip": {"trigger": "item", "backgroundColor": look["panel"],
                        "borderColor": look["line"], "textStyle": {"color": look["ink"]}},
            "grid": {"left": 8, "right": 24, "top": 12, "bottom": 4, "containLabel": True},
            "xAxis": axis(look, "value", scale=True, splitLine=grid, boundaryGap=["8%", "8%"],
                          axisLabel={"color": look["soft"], "formatter": "{value}°"}),
            "yAxis": axis(look, "value", scale=True, splitLine=grid, boundaryGap=["8%", "8%"],
                          axisLabel={"color": look["soft"], "formatter": "{value}°"}),
            "series": [{
                "type": "scatter", "symbolSize": 13,
                "data": [{"name": name, "value": [x, y]} for name, x, y in data],
                "label": {"show": True, "formatter": "{b}", "position": "right",
                          "color": look["ink"], "fontSize": 12},
            }],
        }  # fmt: skip
