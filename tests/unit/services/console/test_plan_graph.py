"""The plan of an app as a graph."""

from __future__ import annotations

from lockstep.testing.isolated import Workbench
from lockstep_services.console.plan_graph import mermaid

WHOLE = """@app:name('A') define stream In (k string, v long);
@info(name='sum') from In select k, sum(v) as total group by k insert into Sums;
"""
CUT = """@app:name('A') @app:parallel('2') define stream In (k string, v long);
partition with (k of In)
begin
  @info(name='sum') from In select k, sum(v) as total, count() as n insert into Sums;
end;
@info(name='whole') from Sums#window.length(1000) select k, sum(total) as all insert into Whole;
"""


def drawn(text: str) -> list[str]:
    """The graph's lines."""
    explained = Workbench().do({"do": "explain", "text": text})
    return [line.strip() for line in mermaid(explained, is_dark=False).splitlines()]


def test_an_app_that_is_one_unit_has_no_boxes() -> None:
    """One around everything would say nothing."""
    lines = drawn(WHOLE)
    assert not any(line.startswith("subgraph") for line in lines)
    assert "q0 --> s1" in lines


def test_groups_are_boxes_around_what_they_run() -> None:
    """With their partitions; streams go between them."""
    lines = drawn(CUT)
    first = lines.index('subgraph g0["group by_k, 2 partitions"]')
    assert lines[first + 1].startswith('q0["<b>sum per key</b>')
    assert lines[first + 2 : first + 4] == ["end", "class g0 group"]
    second = lines.index('subgraph g1["group main, 1 partition"]')
    assert lines[second + 1].startswith('q1["<b>whole</b>')
    assert lines.count("end") == 2
    assert {"s0 --> q0", "q0 --> s1", "s1 --> q1", "q1 --> s2"} <= set(lines)
