"""What deploying refuses: everything that would fail later, with its place."""

from __future__ import annotations

import pytest

from lockstep.frame import Problem
from lockstep.plan import Plans
from lockstep.plan.fleet import assembly
from lockstep.siddhiql import SiddhiQLError
from lockstep_services.coordinator import desired
from lockstep_services.coordinator.desired import MAX_TEXT_BYTES, deployable
from tests.unit.services.coordinator.scenes import CUT, Scene

S = "@app:name('A') define stream S (k string);\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (S + "from S select j insert into O;", 2, "'j' is not an attribute"),
        (S + "from S[regex:matches('(', k)] select k insert into O;", 2, "regular expression"),
        (
            S + "partition with (k of S) begin\nfrom S[str:regexp(k, '(')] select k insert into O;"
            " end;",
            3,
            "regular expression",
        ),
        (S + "define function f[python] return int { ) };", 2, "no Python"),
        (S + "define trigger T at '* * *';", 2, "3 fields"),
        (S + "@sink(type='ibmmq') define stream O (k string);", 2, "no sink 'ibmmq' here"),
        (S + "@sink(type='http') define stream O (k string);", 2, "needs 'publisher.url'"),
        (
            S + "@source(type='http', @map(type='csv', @attributes(k='x'))) "
            "define stream I (k string);",
            2,
            "number of a column",
        ),
    ],
)
def test_refused_at_deploy(text: str, line: int, message: str) -> None:
    """Not first in the processors."""
    with pytest.raises(SiddhiQLError, match=message) as refused:
        deployable(text, Plans())
    assert refused.value.line == line


def test_a_valid_text_has_a_plan() -> None:
    """Its name, and what it exports."""
    plan = deployable(S + "from S select k insert into O;", Plans())
    assert (plan.name, plan.exported) == ("A", ("O",))


def test_a_text_has_a_limit() -> None:
    """413 instead of a coordinator that is busy."""
    with pytest.raises(Problem):
        deployable("-" * (MAX_TEXT_BYTES + 1), Plans())


@pytest.mark.parametrize("has_run_cut", [False, True])
async def test_an_app_whose_units_could_not_begin_is_refused(
    monkeypatch: pytest.MonkeyPatch, has_run_cut: bool
) -> None:
    """And nothing of it is there: neither it nor logs. Also where nobody says anew that it is to be
    cut."""
    scene = Scene()
    if has_run_cut:
        await scene.deploy("A", 4)
    logs, before = list(await scene.bus.logs(None)), await scene.desired.list()
    monkeypatch.setattr(assembly, "group_text", lambda *_: "from S select k insert into O;")
    with pytest.raises(SiddhiQLError, match="its group 'by_k'"):
        await scene.deploy("A", None if has_run_cut else 4, CUT + "\n-- again")
    assert await scene.desired.list() == before
    assert list(await scene.bus.logs(None)) == logs


async def test_an_app_that_is_not_cut_has_no_groups_to_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its text is the app's own."""
    monkeypatch.setattr(desired, "check_units", lambda *_: pytest.fail("it was checked"))
    assert (await Scene().deploy("A")).created
