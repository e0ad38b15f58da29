"""Named windows in columns: several writers, readers that see events come and leave, clocks."""

from __future__ import annotations

import pytest

from lockstep.execute.columnar.hosted.named_window import KernelWindow, NamedWindowUnit
from lockstep.named_windows.rule import NAMED_WINDOWS
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import TICK, Step, played, reasons, unit_of

S = "define stream S (s string, i int); define stream R (s string, i int); "
WRITES = "from S select s, i insert into W; from R[i > 1] select s, i insert into W; "
READS = "from W select s, sum(i) as n, count() as c group by s insert all events into O;"
STEPS: list[Step] = [
    (100, "S", [["a", 1], ["b", 2], ["a", 3]]),
    (150, "R", [["a", 1], ["c", 5]]),
    (260, "S", [["b", 7]]),
    (300, "R", [["b", 2]]),
    (900, TICK, []),
    (1000, "S", [["a", 4]]),
]
WINDOWS = [
    "length(2)",
    "lengthBatch(2)",
    "time(200)",
    "timeBatch(200)",
    "timeLength(300, 2)",
    "session(100)",
    "sort(2, i)",
    "delay(100)",
    "unique:length(s, 2)",
]


@pytest.mark.parametrize("output", ["", " output current events", " output expired events"])
@pytest.mark.parametrize("window", WINDOWS)
def test_readers_see_what_comes_and_what_leaves(window: str, output: str) -> None:
    """Of what all writers brought, in their order."""
    text = f"{S}define window W (s string, i int) {window}{output}; {WRITES}{READS}"
    played(text, *STEPS, rule=NAMED_WINDOWS.name)


def test_a_window_with_a_kernel_uses_it() -> None:
    """Unless timers of others feed it: those only the reference's window weighs."""
    window = "define window W (s string, i int) time(200); "
    unit = unit_of(S + window + WRITES + READS, NamedWindowUnit)
    assert isinstance(unit._window, KernelWindow)
    behind = "from S#window.timeBatch(100) select s, i insert into W; "
    unit = unit_of(S + window + behind + READS, NamedWindowUnit)
    assert not isinstance(unit._window, KernelWindow)
    played(S + window + behind + READS, *STEPS, rule=NAMED_WINDOWS.name)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("from W#log() select s insert into O;", "behind a named window"),
        (
            "from S#window.sort(1, i) as x join W on W.s == x.s select W.s as s insert into O;",
            "the window sort",
        ),
    ],
)
def test_what_has_no_columnar_form_says_why(query: str, reason: str) -> None:
    """It takes along who shares the window."""
    text = f"{S}define window W (s string, i int) length(2); {WRITES}{query}"
    assert any(reason in each for each in reasons(text))


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize("kind", ["expression", "expressionBatch"])
def test_a_condition_may_call_a_function_of_the_app(kind: str, executor: str) -> None:
    """As it may in a window of a query, which gives the same."""
    function = "define function few[javascript] return bool { return data[0] <= 2; }; "
    window = f"{kind}('few(count())')"
    ends = "select sum(i) as n insert into O;"
    texts = [
        f"{function}{S}define window W (s string, i int) {window}; from S insert into W; "
        f"from W {ends}",
        f"{function}{S}from S#window.{window} {ends}",
    ]
    found = []
    for text in texts:
        with VirtualApp(text, executor=executor) as app:
            for number in range(1, 6):
                app.send("S", ("a", number))
            found.append([event.data for event in app.stream("O")])
    named, of_a_query = found
    assert named == of_a_query != []
