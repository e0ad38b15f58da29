"""Fleets whose units could not begin are refused before anybody runs them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockstep.fleet import check_units
from lockstep.plan import AppPlan, plan_of
from lockstep.plan.fleet import fleet_of
from lockstep.siddhiql import SiddhiQLError, ast
from tests.unit.fleet.fleets import fleet


def test_what_can_run_is_not_refused() -> None:
    """Each group is an app by itself."""
    check_units(fleet(2))


def test_a_group_that_is_no_app_is_refused() -> None:
    """The message says which, and why, and what runs instead."""
    found = fleet(2)
    broken = replace(found.groups[1], text="from X select k insert into O;")
    with pytest.raises(SiddhiQLError, match=r"its group 'all' .* definition") as refused:
        check_units(replace(found, groups=(found.groups[0], broken)))
    assert "in one piece" in (refused.value.hint or "")


def test_a_key_that_means_nothing_in_its_group_is_refused() -> None:
    """Such a unit could not tell its events."""
    found = fleet(2)
    feed = replace(found.groups[0].feeds[0], key=ast.FunctionCall("f", (ast.Variable("v"),)))
    broken = replace(found.groups[0], feeds=(feed,))
    with pytest.raises(SiddhiQLError, match="its group 'keys'"):
        check_units(replace(found, groups=(broken, found.groups[1])))


def test_an_app_that_is_not_cut_is_not_read_again() -> None:
    """Its text is known to be an app."""

    def refuse(text: str) -> AppPlan:
        raise AssertionError(text)

    check_units(
        fleet_of(plan_of("define stream S (k string); from S select k insert into O;")), refuse
    )
