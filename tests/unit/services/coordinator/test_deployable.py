"""What deploying refuses: everything that would fail later, with its place."""

from __future__ import annotations

import pytest

from lockstep.frame import Problem
from lockstep.plan import Plans
from lockstep.plan.fleet import assembly
from lockstep.siddhiql import SiddhiQLError
from lockstep_services.coordinator import layouts
from lockstep_services.coordinator.desired import MAX_TEXT_BYTES, deployable
from lockstep_services.coordinator.preview import preview
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
    cut, and where it is only tried."""
    scene = Scene()
    if has_run_cut:
        await scene.deploy("A", 4)
    logs, before = list(await scene.bus.logs(None)), await scene.desired.list()
    monkeypatch.setattr(assembly, "group_text", lambda *_: "from S select k insert into O;")
    text, parallel = CUT + "\n-- again", None if has_run_cut else 4
    with pytest.raises(SiddhiQLError, match="its group 'by_k'"):
        await scene.deploy("A", parallel, text)
    with pytest.raises(SiddhiQLError, match="its group 'by_k'"):
        await preview(scene.desired, text.format(app="A"), parallel)
    assert await scene.desired.list() == before
    assert list(await scene.bus.logs(None)) == logs


async def test_an_app_that_is_not_cut_has_no_groups_to_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its text is the app's own."""
    monkeypatch.setattr(layouts, "check_units", lambda *_: pytest.fail("it was checked"))
    assert (await Scene().deploy("A")).created


SHARED = (
    S + "define table T (k string);\n@dist(execGroup='a', parallel='2') from S select k"
    " insert into T;\n@dist(execGroup='b', parallel='2') from S join T on S.k == T.k"
    " select S.k as k insert into O;"
)


@pytest.mark.parametrize("running", [None, 1, 4])
@pytest.mark.parametrize(
    ("text", "parallel"),
    [(SHARED, None), (SHARED, 2), (CUT, 300)],
    ids=["@dist", "@dist cut", "too many"],
)
async def test_what_deploying_refuses_is_refused_when_it_is_tried(
    text: str, parallel: int | None, running: int | None
) -> None:
    """In the same words, whether there is such an app or not."""
    scene, text = Scene(), text.replace("{app}", "A")
    if running is not None:
        await scene.deploy("A", running)
    before = await scene.desired.list()
    with pytest.raises(SiddhiQLError) as refused:
        await scene.desired.deploy(text, {}, parallel, who="ann")
    with pytest.raises(SiddhiQLError) as told:
        await preview(scene.desired, text, parallel)
    assert str(told.value) == str(refused.value)
    assert await scene.desired.list() == before


@pytest.mark.parametrize("running", [None, 1, 4])
@pytest.mark.parametrize("parallel", [None, 1, 4])
async def test_what_is_deployed_is_not_refused_when_it_is_tried(
    running: int | None, parallel: int | None
) -> None:
    """It says the same of what there is."""
    scene = Scene()
    if running is not None:
        await scene.deploy("A", running)
    text = CUT.format(app="A") + "\n-- again"
    told = await preview(scene.desired, text, parallel)
    found = await scene.desired.deploy(text, {}, parallel, who="ann")
    assert (told.created, told.changed) == (found.created, found.changed)
