"""What stands in the text of a group."""

from __future__ import annotations

import pytest

from tests.unit.plan.fleet.apps import fleet

FUNCTIONS = (
    "define function f[javascript] return int { return data[0]; };"
    " define function g[javascript] return int { return data[0]; };"
)


@pytest.mark.parametrize(
    ("window", "needed"),
    [
        ("expression('sum(f(v)) <= 4')", "f"),
        ("expressionBatch('sum(f(v)) <= 4 and first.v < g(last.v)')", "fg"),
        ("expression(k)", "fg"),
        ("expression('sum(v) <= 4')", ""),
    ],
)
@pytest.mark.parametrize("parallel", [1, 3])
def test_functions_that_the_condition_of_a_window_calls(
    window: str, needed: str, parallel: int
) -> None:
    """They stand in a text, or in one that comes with an event; others are left out."""
    query = f"from S#window.{window} select k, count() as n insert into O;"
    found = fleet(f"{FUNCTIONS} partition with (k of S) begin {query} end;", parallel)
    (group,) = found.groups
    assert [name for name in "fg" if f"function {name}[" in group.text] == list(needed)
