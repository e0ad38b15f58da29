"""Expressions as deep as they may be: what passes the check can be computed."""

from __future__ import annotations

import pytest

from lockstep.testing.virtual_app import VirtualApp

LEVELS = 140
DEEP = {
    "brackets": ("(" * LEVELS + "a" + " + 1)" * LEVELS, 5 + LEVELS),
    "from the right": ("a + (" * LEVELS + "a" + ")" * LEVELS, 5 * (LEVELS + 1)),
    "a row": ("a" + " + 1" * LEVELS, 5 + LEVELS),
    "divided": ("a" + " / 1" * LEVELS, 5),
    "what is left": ("a" + " % 7" * LEVELS, 5),
    "compared": ("(" * LEVELS + "b" + " == true)" * LEVELS, True),
    "called": ("ifThenElse(a > 1, " * LEVELS + "a" + ", 0)" * LEVELS, 5),
}


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(("expression", "value"), DEEP.values(), ids=DEEP)
def test_a_deep_expression_is_computed(expression: str, value: object, executor: str) -> None:
    """Python reads 200 brackets in each other at most, and an operation is written with several."""
    text = f"define stream S (a int, b bool); from S select {expression} as v insert into O;"
    with VirtualApp(text, executor=executor) as app:
        app.send("S", (5, True))
        assert [event.data for event in app.stream("O")] == [(value,)]


def test_what_is_not_chosen_is_not_computed() -> None:
    """However deep it is: a script that fails is not called."""
    deep = "(" * 70 + "broken(a)" + " + 1)" * 70
    text = (
        "define function broken[python] return int { return 1 % 0 };"
        f"define stream S (a int); from S select ifThenElse(a > 9, {deep}, 0) as v insert into O;"
    )
    with VirtualApp(text) as app:
        app.send("S", (5,))
        app.send("S", (10,))
        assert [event.data for event in app.stream("O")] == [(0,)]
        assert len(app.faults()) == 1
