"""What the console offers: what the suite's table of rights lets this person do."""

from __future__ import annotations

import inspect

import pytest

from lockstep.rights import ROUTES
from lockstep_services.console import allowed
from lockstep_services.console.allowed import EVERYTHING, MAX_KNOWN, Allowed, Known, person_of
from tests.e2e import rights_pages

PLACES = {name: place for name, place in inspect.getmembers(allowed) if name.isupper()}
MINE, OTHER = "Mine", "Other"


def of(*grants: tuple[str, str]) -> Allowed:
    """A user with these roles, as the suite tells of it."""
    told = [{"role": role, "app": app} for role, app in grants]
    return Allowed(person_of({"kind": "user", "name": "ann", "grants": told}))


@pytest.mark.parametrize(
    ("grants", "place", "app", "says"),
    [
        ([("view", "*")], "HAND_OVER", MINE, "user ann has not the right to operate on app 'Mine'"),
        ([("operate", MINE)], "HAND_OVER", MINE, ""),
        ([("operate", MINE)], "HAND_OVER", OTHER, "the role operate on app 'Other'"),
        ([("operate", MINE)], "UNDEPLOY", MINE, "the right to deploy on app 'Mine'"),
        ([("deploy", MINE)], "DEPLOY", None, ""),
        ([("operate", "*")], "DEPLOY", None, "the right to deploy"),
        ([("operate", MINE)], "DRAIN", None, "the right to operate"),
        ([("operate", "*")], "DRAIN", None, ""),
        ([("view", "*"), ("send", MINE)], "SEND", MINE, ""),
        ([("a role of a later release", "*")], "LEVEL", None, "the right to operate"),
    ],
)
def test_what_is_refused_is_not_offered(
    grants: list[tuple[str, str]], place: str, app: str | None, says: str
) -> None:
    """With the words of the refusal."""
    told = of(*grants).why_not(PLACES[place], app)
    assert says in told
    assert bool(told) == bool(says)


def test_each_command_of_the_console_is_in_the_table() -> None:
    """And at a door that asks for nothing all is offered."""
    places = [place for place in PLACES.values() if isinstance(place, tuple)]
    assert len(places) >= 12
    for place in places:
        assert place in ROUTES
        assert EVERYTHING.why_not(place, MINE) == ""


def test_every_page_is_looked_at_by_the_scenario_of_rights() -> None:
    """Nobody can add one and forget it."""
    assert rights_pages.unlisted() == []
    assert len(rights_pages.PAGES) > 10


def test_whom_the_suite_let_in_is_remembered_within_a_limit() -> None:
    """The longest unused is forgotten first; a refused one at once."""
    known = Known()
    for number in range(MAX_KNOWN):
        known.add(str(number))
    known.add("0")
    known.add("one more")
    assert "0" in known
    assert "1" not in known
    known.remove("0")
    assert "0" not in known
    assert None not in known
