"""From a plan to units: which part of an app runs in columns, and which goes to the reference."""

from __future__ import annotations

from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Defaults
from lockstep.columns.units import Unit
from lockstep.execute.columnar.executor import lowering_of
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.hosting import CIRCLE, hears_timers, members
from lockstep.execute.columnar.lowering import Choice, app_reasons, lower
from lockstep.execute.columnar.observing import Observer
from lockstep.execute.columnar.precompile import apps
from lockstep.execute.columnar.rules import RULES
from lockstep.execute.observe import Observe
from lockstep.plan import plan_of
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import reasons, rules

S = "define stream S (s string, i int); "
SCRIPT = "define function f[python] return int { return data[0] }; "
PLAIN = "@info(name='plain') from S select i insert into P; "


def names(text: str) -> list[str]:
    """The parts of an app in order; hosted ones together."""
    return [
        "+".join(sorted(part.members.nodes)) if isinstance(part, HostedQueries) else part.name
        for part in lowering_of(plan_of(S + text)).units
    ]


def test_each_part_stands_behind_those_whose_streams_it_reads() -> None:
    """However the app is written."""
    text = (
        "@info(name='c') from B select i insert into C; @info(name='b') from A select i insert"
        " into B; @info(name='a') from S select i insert into A;"
    )
    found = [
        unit.name
        for unit in lowering_of(
            plan_of(f"define stream A (i int); define stream B (i int); {S}{text}")
        ).units
    ]
    assert found == ["a", "b", "c"]


def test_a_circle_goes_to_the_reference() -> None:
    """What only feeds it stays, and who reads one of its streams; a join with another does not."""
    text = (
        f"define stream A (i int); define stream B (i int); {S}{PLAIN}"
        "@info(name='in') from P select i insert into A;"
        "@info(name='there') from A[i < 3] select i + 1 as i insert into B;"
        "@info(name='back') from B select i insert into A;"
        "@info(name='reader') from A#window.length(2) select sum(i) as n insert into Q;"
        "@info(name='join') from A#window.length(2) as a join S#window.length(2) as s on a.i == s.i"
        " select a.i as i insert into Q2;"
    )
    choices = {choice.query: choice for choice in lowering_of(plan_of(text)).choices}
    assert choices["plain"].rule is not None
    assert choices["in"].rule is not None
    assert choices["reader"].rule is not None
    for name in ("there", "back", "join"):
        assert (choices[name].rule, choices[name].reason) == (None, CIRCLE)
        assert choices[name].alone is not None


def test_who_shares_a_named_window_goes_with_who_has_no_form() -> None:
    """And says with whom."""
    text = (
        f"{SCRIPT}{S}define window W (s string, i int) length(2); {PLAIN}"
        "@info(name='own') from S select s, f(i) as i insert into W;"
        "@info(name='join') from S join W on W.s == S.s select W.i as i insert into O;"
    )
    assert rules(text)[0] is not None
    assert any("shares state with" in reason for reason in reasons(text))


def test_who_shares_a_table_stays_where_he_is() -> None:
    """The table goes, and its columns follow."""
    text = (
        f"{SCRIPT}{S}@PrimaryKey('s') define table T (s string, i int); {PLAIN}"
        "@info(name='own') from S select s, f(i) as i insert into T;"
        "@info(name='join') from S join T on T.s == S.s select T.i as i insert into O;"
    )
    choices = {choice.query: choice for choice in lowering_of(plan_of(text)).choices}
    assert choices["own"].rule is None
    assert choices["join"].rule is not None


def test_what_no_part_of_an_app_can_do_in_columns() -> None:
    """The whole app stays on the reference."""
    plan = plan_of(f"@app:playback(idle.time='1 sec', increment='1 sec') {S}{PLAIN}")
    reason = "playback with idle time"
    assert app_reasons(plan) == [reason]
    lowering = lower(plan, StringPool(), Defaults({}))
    assert (lowering.is_columnar, lowering.units, lowering.app_reasons) == (False, (), (reason,))


def test_an_app_without_any_rule_stays_whole() -> None:
    """Nothing is gained by hosting alone."""
    lowering = lowering_of(
        plan_of(f"{SCRIPT}{S}@info(name='q') from S select f(i) as i insert into O;")
    )
    (choice,) = lowering.choices
    assert (lowering.is_columnar, lowering.units) == (False, ())
    assert choice == Choice("q", None, "f() is the app's own")


def test_rules_have_names_of_their_own() -> None:
    """Explanations tell queries apart by them."""
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_the_members_of_what_is_hosted() -> None:
    """Queries by their path, definitions by kind and name."""
    plan = plan_of(f"{S}define table T (i int); define window W (i int) length(1); {PLAIN}")
    found = members(plan, [plan.nodes[0].path, "table/T", "window/W"])
    assert found.nodes == {"plain"}
    assert [set(each) for each in (found.tables, found.windows)] == [{"T"}, {"W"}]
    assert not found.triggers


def test_who_hears_timers() -> None:
    """Who shows them, unless he says otherwise, as an output rate does."""
    rated = lowering_of(plan_of(f"{S}from S select i output last every 1 sec insert into O;")).units
    text = f"{S}from S#window.timeBatch(1 sec) select i insert into O;"
    shown = lowering_of(plan_of(text)).units
    plain = lowering_of(plan_of(S + PLAIN)).units
    both: list[Unit] = [
        unit for unit in (*shown, *rated, *plain) if not isinstance(unit, HostedQueries)
    ]
    assert [hears_timers(unit) for unit in both] == [True, False, False]


def test_observations_stand_in_the_order_of_the_reference() -> None:
    """A query's chunk in front of what came of it; the stream's own behind all its receivers."""
    text = f"{S}{PLAIN}@info(name='next') from P[i > 1] select i insert into N;"
    seen = []
    for executor in ("reference", "columnar"):
        app = VirtualApp(text, executor=executor)
        app.send_many("S", [["a", 1], ["b", 2]])
        seen.append([repr(each) for each in app.observations])
    assert seen[0] == seen[1]
    assert [each.split("(")[0] for each in seen[0]] == [
        "QueryChunk",
        "QueryChunk",
        "StreamChunk",
        "StreamChunk",
        "StreamChunk",
    ]
    assert Observer(plan_of(text), Observe.ALL).take() == []


def test_what_is_precompiled_runs_in_columns() -> None:
    """Or its kernels would not be touched."""
    for text in apps():
        assert lowering_of(plan_of(text)).is_columnar
