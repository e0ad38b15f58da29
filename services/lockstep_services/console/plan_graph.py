"""A plan as a graph for Mermaid: streams, queries, tables; what runs in columns and what not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_ESCAPED: Final = str.maketrans({'"': "'", "<": "‹", ">": "›", "#": "＃", "\n": " ", "`": "'"})


def mermaid(explained: Mapping[str, Any], *, is_dark: bool) -> str:
    """The graph's text. Names are escaped: they come from people."""
    lines = ["flowchart TB"]
    ids: dict[str, str] = {}
    inputs = _true_inputs(explained)

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
        lines.append(
            f'  q{number}["<b>{_safe(name)}</b><br/><small>{_safe(steps)}</small>"]:::{engine}'
        )
        reads = [node(source) for source in dict.fromkeys(query["reads"])]
        lines += [f"  {each} --> q{number}" for each in reads]
        lines.append(f"  q{number} --> {node(query['writes'])}")
    for number, each in enumerate(explained["aggregations"]):
        kept = ", ".join(each["granularities"])
        engine = "columns" if each["engine"] == "columns" else "reference"
        lines.append(
            f'  a{number}[("<b>{_safe(each["aggregation"])}</b><br/>'
            f'<small>{_safe(kept)}</small>")]:::{engine}'
        )
        reads = [node(source) for source in each["reads"]]
        lines += [f"  {one} --> a{number}" for one in reads]
    return "\n".join(lines + _classes(is_dark=is_dark))


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
        }
    else:
        looks = {
            "input": "fill:#e9edfd,stroke:#3550d4,color:#171a21",
            "stream": "fill:#eff1f5,stroke:#b6bdc9,color:#171a21",
            "columns": "fill:#dff4ea,stroke:#0e6e4a,color:#171a21",
            "reference": "fill:#fdf0d8,stroke:#a8630b,color:#171a21",
        }
    line = "#5b6576" if is_dark else "#9aa3b2"
    styles = [f"  classDef {name} {look},stroke-width:1.2px" for name, look in looks.items()]
    return [*styles, f"  linkStyle default stroke:{line},stroke-width:1.2px"]


def notes(explained: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, engine and reason of each query and aggregation."""
    found = [(one["query"], one) for one in explained["queries"]]
    found += [(one["aggregation"], one) for one in explained["aggregations"]]
    return [(name, one["engine"], one["rule"] or one["reason"] or "") for name, one in found]
