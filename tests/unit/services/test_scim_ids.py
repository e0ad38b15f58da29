"""Ids of SCIM: each is one user's or group's, whoever had the name before; and how often members
are looked for."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from lockstep.frame import Process
from lockstep.rights.accounts import Account
from tests.unit.services.suite import running
from tests.unit.services.test_people import PASSWORD, ROOT, add
from tests.unit.services.test_scim import GROUPS, USERS, Provider

OLDER = [
    Account("user", "robert", '{"name":"robert","created_ms":1,"id":"bob"}'),
    Account("user", "bob", '{"name":"bob","created_ms":2}'),
    Account("group", "Traders", '{"name":"Traders","id":"Ops"}'),
    Account("group", "Ops", '{"name":"Ops"}'),
]
"""What an earlier release left: a provider had renamed the first bob and the first Ops."""


class Counted(dict[str, Any]):
    """Counts how often all of it is looked at."""

    looks = 0

    def values(self) -> Any:
        """All, once more."""
        self.looks += 1
        return super().values()


@pytest.fixture
async def places() -> AsyncIterator[tuple[Provider, Process]]:
    """At a coordinator, beside an administrator."""
    async with running("coordinator") as (doors, process):
        await add(doors, "root", role="administer", password=PASSWORD)
        yield Provider(doors, ROOT), process


async def names(provider: Provider, path: str, wanted: str) -> list[str]:
    """Of what a filter finds."""
    answer = await provider.ask("GET", f"{path}?filter={wanted.replace(' ', '%20')}")
    return [one.get("userName") or one["displayName"] for one in answer["Resources"]]


async def test_what_an_administrator_makes_has_an_id_of_its_own_at_once(
    places: tuple[Provider, Process],
) -> None:
    """So a new bob is not taken for the one whom the provider has renamed."""
    provider, _ = places
    doors = provider.doors
    await add(doors, "bob", password=PASSWORD)
    await doors.ask(ROOT, "PUT", "/v1/groups/Ops")
    (bob,) = await provider.found(USERS, 'userName eq "bob"')
    (ops,) = await provider.found(GROUPS, 'displayName eq "Ops"')
    assert (len(bob), len(ops)) == (32, 32)
    await provider.patch(f"{USERS}/{bob}", ("Replace", "userName", "robert"))
    await provider.patch(f"{GROUPS}/{ops}", ("Replace", "displayName", "Traders"), expected=204)
    await add(doors, "bob", password=PASSWORD)
    assert (await doors.ask(ROOT, "PUT", "/v1/groups/Ops"))[0] == 201
    for path, name, was in ((USERS, "userName", bob), (GROUPS, "displayName", ops)):
        (now,) = await provider.found(path, f'{name} eq "{"bob" if path == USERS else "Ops"}"')
        assert now != was
    await provider.patch(f"{GROUPS}/{ops}", ("Add", "members", [{"value": bob}]), expected=204)
    _, answer = await doors.ask(ROOT, "GET", "/v1/groups")
    assert {one["group"]: one["members"] for one in answer["groups"]} == {
        "Ops": [], "Traders": ["robert"],
    }  # fmt: skip


async def test_a_name_that_is_anothers_id_leads_to_that_other_one(
    places: tuple[Provider, Process],
) -> None:
    """In data of earlier releases: at every place where an id is asked for, and also when that
    other one is gone."""
    provider, process = places
    accounts = process._world.store.accounts
    assert await accounts.change(OLDER, [], expected=await accounts.revision())
    assert await names(provider, USERS, 'id eq "bob"') == ["robert"]
    assert await names(provider, GROUPS, 'id eq "Ops"') == ["Traders"]
    assert (await provider.ask("GET", f"{USERS}/bob"))["userName"] == "robert"
    await provider.patch(f"{GROUPS}/Ops", ("Add", "members", [{"value": "bob"}]), expected=204)
    assert await names(provider, GROUPS, 'members eq "bob"') == ["Traders"]
    (other,) = await provider.found(USERS, 'userName eq "bob"')
    (ops,) = await provider.found(GROUPS, 'displayName eq "Ops"')
    assert (await provider.ask("GET", f"{USERS}/{other}"))["groups"] == []
    for path in (f"{USERS}/bob", f"{GROUPS}/Ops"):
        await provider.ask("DELETE", path, expected=204)
        await provider.ask("DELETE", path, expected=404)
    assert (await provider.ask("GET", f"{USERS}/{other}"))["userName"] == "bob"
    assert (await provider.ask("GET", f"{GROUPS}/{ops}"))["displayName"] == "Ops"


@pytest.mark.parametrize(
    ("query", "looks"),
    [
        ('filter=displayName eq "Group 3"&excludedAttributes=members', 0),
        ("attributes=displayName", 0),
        ("count=5", 1),
        ('filter=members eq "{ann}"&excludedAttributes=members', 1),
        ('filter=members[value eq "{ann}"] or externalId eq "x"', 1),
    ],
)
async def test_members_of_all_groups_are_looked_for_once_and_only_if_they_are_asked_for(
    places: tuple[Provider, Process], query: str, looks: int
) -> None:
    """With thousands of groups and users the coordinator stood still for seconds."""
    provider, process = places
    ann = await provider.user("ann")
    for number in range(5):
        body = {"displayName": f"Group {number}", "members": [{"value": ann}]}
        await provider.ask("POST", GROUPS, body, 201)
    book = process._accounts
    users = Counted(book.directory.users)
    book.directory = replace(book.directory, users=users)
    asked = query.format(ann=ann).replace(" ", "%20").replace('"', "%22")
    answer = await provider.ask("GET", f"{GROUPS}?{asked}")
    assert users.looks == looks
    assert answer["totalResults"] == (1 if "Group" in query else 5)
    if "ttributes" not in query:
        assert [[m["value"] for m in one["members"]] for one in answer["Resources"]] == [[ann]] * 5
