"""The table of rights: every route, subject and command has its row, and doors judge by it."""

from __future__ import annotations

import pytest

from lockstep.bus import subjects
from lockstep.cli.command import COMMANDS as LISTED
from lockstep.rights import COMMANDS, ROUTES, TOPICS, Permission, Scope
from lockstep.rights.table import COORDINATOR, DOOR, PRESENTER, RECEIVER
from tests.e2e import rights_commands
from tests.unit.services.test_openapi import WIRES, running

OF = {"coordinator": COORDINATOR, "presenter": PRESENTER, "receiver": RECEIVER}


@pytest.mark.parametrize("service", WIRES)
async def test_every_route_of_every_service_has_its_row_and_no_row_is_left_over(
    service: str,
) -> None:
    """A route that nobody thought about is shut, and this test says so."""
    async with running(service) as (_, door):
        found = {
            (route.method, route.resource.canonical)
            for route in door.application.router.routes()
            if route.resource is not None and route.method != "HEAD"
        }
    assert found == {*DOOR, *OF.get(service, {})}


def test_an_app_in_the_path_is_judged_as_that_app() -> None:
    """No row with an app in its path asks for less than a right on that app, and none without one
    asks for a right on it."""
    for (_, path), need in ROUTES.items():
        assert ("{app}" in path) == (need.scope is Scope.APP), path


def test_reading_asks_for_no_more_than_viewing_and_changing_for_more() -> None:
    """But for what an answer of its own takes."""
    reading = {place: need for place, need in ROUTES.items() if place[0] == "GET"}
    # What databases there are is known to those alone who may read them.
    named = reading.pop(("GET", "/v1/datasources"))
    assert named == ROUTES["POST", "/v1/datasources/{datasource}/rows"]
    assert {str(need.permission) for need in reading.values()} <= {"view", "None", "administer"}
    asks = {
        ("POST", "/v1/login"), ("POST", "/v1/logout"), ("POST", "/v1/invitation"),
        ("PUT", "/v1/me/password"), ("POST", "/v1/validate"), ("DELETE", "/v1/tokens/{token}"),
        ("POST", "/v1/apps/{app}/query"), ("POST", "/stores/query"),
        ("POST", "/v1/apps/{app}/archive/query"),
        *(place for place in ROUTES if place[1].startswith("/grafana/")),
    }  # fmt: skip
    for place, need in ROUTES.items():
        if place[0] != "GET" and place not in asks:
            assert need.permission not in (None, Permission.VIEW), place


def test_every_command_has_its_row() -> None:
    """Of the `lockstep` command."""
    assert set(COMMANDS) == set(LISTED)


def test_a_command_that_the_scenario_of_rights_does_not_try_is_told() -> None:
    """Nobody can add one and forget it; of a command with commands of its own each is asked for."""
    assert rights_commands.unlisted() == []
    for words, says in (("drain ", "'drain'"), ("tokens revoke", "'tokens revoke'")):
        left = [line for line in rights_commands.LINES if not line.words.startswith(words)]
        assert any(says in told for told in rights_commands.unlisted(left))


@pytest.mark.parametrize(
    ("made", "row"),
    [
        (subjects.ingress_subject("a", "b"), ("publish", "ingress.{app}.{stream}")),
        (subjects.presenter_subject("a", "b"), ("subscribe", "presenter.{app}.{stream}")),
        (subjects.dead_subject("a", "b"), ("publish", "dead.>")),
        (subjects.topic_subject("a"), ("publish", "topic.>")),
        (subjects.control_subject("a"), ("publish", "control.>")),
        (subjects.INPUT_LOGS, ("publish", "in.>")),
        (subjects.OUTPUT_LOGS, ("publish", "out.>")),
    ],
)  # fmt: skip
def test_every_subject_has_its_row(made: str, row: tuple[str, str]) -> None:
    """And its first word is that of the bus."""
    assert row in TOPICS
    assert made.split(".")[0] == row[1].split(".")[0]


def test_every_kind_of_subject_is_listed() -> None:
    """A subject function that is new has to be given a row."""
    made = {name for name in dir(subjects) if name.endswith("_subject")}
    assert made == {
        "input_subject", "output_subject", "dead_subject", "ingress_subject",
        "presenter_subject", "topic_subject", "control_subject",
    }  # fmt: skip
    assert {row.split(".")[0] for _, row in TOPICS} == {
        "in", "out", "dead", "ingress", "presenter", "topic", "control",
    }  # fmt: skip
