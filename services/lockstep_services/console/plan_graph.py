"""A plan as a graph for Mermaid: streams, queries, tables; what runs in columns and what not; which
queries run together, where the app is cut into groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

_ESCAPED: Final = str.maketrans({'"': "'", "<": "‹", ">": "›", "#": "＃", "\n": " ", "`": "'"})


def mermaid(explained: Mapping[str, Any], *, is_dark: bool) -> str:
    """The graph's text. Names are escaped: they come from people."""
    lines = ["flowchart TB"]
    ids: dict[str, str] = {}
    inputs = _true_inputs(explained)
    boxes = _boxes(explained)

    def node(name: str) -> str:
        if name not in ids:
            ids[name] = f"s{len(ids)}"
            kind = "input" if name in inputs else "stream"
            lines.append(f'  {ids[name]}(["{_safe(name)}"]):::{kind}')
        return ids[name]

    for number, query in enumerate(explained["queries"]):
        steps = " → ".join(query["steps"])
        name = query["query"] if not query["partition"] else f"{query['query']} per key"
        engine = "columns" if query["engine"] == "columns" else "reference"
        shown = f'  q{number}["<b>{_safe(name)}</b><br/><small>{_safe(steps)}</small>"]:::{engine}'
        boxes.get(query["partition"] or query["query"], lines).append(shown)
        reads = [node(source) for source in dict.fromkeys(query["reads"])]
        lines += [f"  {each} --> q{number}" for each in reads]
        lines.append(f"  q{number} --> {node(query['writes'])}")
    for number, each in enumerate(explained["aggregations"]):
        kept = ", ".join(each["granularities"])
        engine = "columns" if each["engine"] == "columns" else "reference"
        boxes.get(each["aggregation"], lines).append(
            f'  a{number}[("<b>{_safe(each["aggregation"])}</b><br/>'
            f'<small>{_safe(kept)}</small>")]:::{engine}'
        )
        reads = [node(source) for source in each["reads"]]
        lines += [f"  {one} --> a{number}" for one in reads]
    drawn = _drawn(explained, boxes)
    return "\n".join([lines[0], *drawn, *lines[1:], *_classes(is_dark=is_dark)])


def _boxes(explained: Mapping[str, Any]) -> dict[str, list[str]]:
    """For each part of an app that is cut, the lines of its group's box; of one that is not, none:
    a box around everything says nothing."""
    found: dict[str, list[str]] = {}
    for group in _groups(explained):
        lines: list[str] = []
        found |= dict.fromkeys(group["nodes"], lines)
    return found


def _drawn(explained: Mapping[str, Any], boxes: Mapping[str, list[str]]) -> list[str]:
    lines: list[str] = []
    for number, group in enumerate(_groups(explained)):
        inside = next((boxes[name] for name in group["nodes"]), [])
        lines += [f'  subgraph g{number}["{_safe(group_title(group))}"]', *inside, "  end"]
        lines.append(f"  class g{number} group")
    return lines


def _groups(explained: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    groups: Sequence[Mapping[str, Any]] = (explained.get("fleet") or {}).get("groups", ())
    is_cut = len(groups) > 1 or any(one["partitions"] > 1 for one in groups)
    return groups if is_cut else ()


def group_title(group: Mapping[str, Any]) -> str:
    """A group's name, and into how many partitions it is cut."""
    count = group["partitions"]
    return f"group {group['name']}, {count} partition{'' if count == 1 else 's'}"


def _true_inputs(explained: Mapping[str, Any]) -> set[str]:
    written = {query["writes"] for query in explained["queries"]}
    return {name for name in explained.get("inputs", ()) if name not in written}


def _safe(name: str) -> str:
    return name.translate(_ESCAPED)


def _classes(*, is_dark: bool) -> list[str]:
    if is_dark:
        looks = {
            "input": "fill:#232b4d,stroke:#8fa5ff,color:#e7eaf0",
            "stream": "fill:#1e232c,stroke:#4a5363,color:#e7eaf0",
            "columns": "fill:#14352a,stroke:#57d39b,color:#e7eaf0",
            "reference": "fill:#3a2b13,stroke:#f0b45c,color:#e7eaf0",
            "group": "fill:#171b22,stroke:#6b7585,color:#e7eaf0,stroke-dasharray:4 4",
        }
    else:
        looks = {
            "input": "fill:#e9edfd,stroke:#3550d4,color:#171a21",
            "stream": "fill:#eff1f5,stroke:#b6bdc9,color:#171a21",
            "columns": "fill:#dff4ea,stroke:#0e6e4a,color:#171a21",
            "reference": "fill:#fdf0d8,stroke:#a8630b,color:#171a21",
            "group": "fill:#ffffff,stroke:#868f9f,color:#171a21,stroke-dasharray:4 4",
        }
    line = "#5b6576" if is_dark else "#9aa3b2"
    styles = [f"  classDef {name} {look},stroke-width:1.2px" for name, look in looks.items()]
    return [*styles, f"  linkStyle default stroke:{line},stroke-width:1.2px"]


def notes(explained: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, engine and reason of each query and aggregation."""
    found = [(one["query"], one) for one in explained["queries"]]
    found += [(one["aggregation"], one) for one in explained["aggregations"]]
    return [(name, one["engine"], one["rule"] or one["reason"] or "") for name, one in found]
