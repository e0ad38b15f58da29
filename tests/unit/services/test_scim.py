"""SCIM 2.0 at the coordinator's door: the life of users and groups that a provider keeps."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.unit.services.suite import CLUSTER, Doors, bearer, running
from tests.unit.services.test_people import PASSWORD, ROOT, add, basic, log_in

USERS, GROUPS = "/scim/v2/Users", "/scim/v2/Groups"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"


class Provider:
    """An identity provider with a token of a service."""

    def __init__(self, doors: Doors, token: str) -> None:
        self.doors = doors
        self.token = token

    async def ask(self, method: str, path: str, body: Any = None, expected: int = 200) -> Any:
        """The answer, which has to have this status and be SCIM's."""
        headers = {"Authorization": self.token, "Content-Type": "application/scim+json"}
        async with self.doors.session.request(
            method, self.doors.url + path, json=body, headers=headers
        ) as response:
            text = await response.text()
            assert response.status == expected, (response.status, text)
            if expected == 204:
                return None
            assert response.content_type == "application/scim+json"
            return await response.json()

    async def user(self, user_name: str, **more: Any) -> str:
        """Its id."""
        made = await self.ask("POST", USERS, {"userName": user_name, **more}, 201)
        assert made["meta"]["location"] == f"{self.doors.url}{USERS}/{made['id']}"
        return str(made["id"])

    async def patch(
        self, path: str, *operations: tuple[str, str | None, Any], expected: int = 200
    ) -> Any:
        """With these changes."""
        listed = [
            {"op": op, "value": value} | ({} if where is None else {"path": where})
            for op, where, value in operations
        ]
        body = {"schemas": [PATCH], "Operations": listed}
        return await self.ask("PATCH", path, body, expected)

    async def found(self, path: str, wanted: str) -> list[str]:
        """Ids by a filter."""
        query = wanted.replace('"', "%22").replace(" ", "%20")
        answer = await self.ask("GET", f"{path}?filter={query}")
        assert answer["totalResults"] == len(answer["Resources"]) == answer["itemsPerPage"]
        return [one["id"] for one in answer["Resources"]]


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """At a coordinator and a presenter, beside an administrator."""
    async with running("coordinator", "presenter") as (doors, _):
        await add(doors, "root", role="administer", password=PASSWORD)
        grants = [{"role": "administer"}]
        _, made = await doors.ask(ROOT, "POST", "/v1/tokens", {"name": "idp", "grants": grants})
        yield Provider(doors, bearer(made["token"]))


async def test_a_user_is_provisioned_deactivated_activated_and_removed(provider: Provider) -> None:
    """Sessions and passwords are refused at once; an ended session does not come back."""
    doors = provider.doors
    ann = await provider.user(
        "ann@corp.com", externalId="e-1", displayName="Ann", password=PASSWORD,
        name={"givenName": "Ann"}, emails=[{"value": "ann@corp.com", "primary": True}],
    )  # fmt: skip
    shown = await provider.ask("GET", f"{USERS}/{ann}")
    assert (shown["userName"], shown["externalId"], shown["active"]) == (
        "ann@corp.com",
        "e-1",
        True,
    )
    assert "password" not in shown
    session = await log_in(doors, "ann@corp.com")
    assert (await doors.ask(session, "GET", "/v1/me"))[0] == 200
    assert (await doors.ask(basic("ann@corp.com", PASSWORD), "GET", "/v1/me"))[0] == 200
    out = await provider.patch(f"{USERS}/{ann}", ("Replace", "active", "False"))
    assert out["active"] is False
    assert (await doors.ask(session, "GET", "/v1/me"))[0] == 401
    assert (await doors.ask(basic("ann@corp.com", PASSWORD), "GET", "/v1/me"))[0] == 401
    body = {"user": "ann@corp.com", "password": PASSWORD}
    assert (await doors.ask(None, "POST", "/v1/login", body))[0] == 401
    assert (await doors.ask(ROOT, "POST", "/v1/users/ann@corp.com/invitation"))[0] == 409
    # A replacement that says nothing about it leaves a user deactivated.
    kept = await provider.ask("PUT", f"{USERS}/{ann}", {"userName": "ann@corp.com"})
    assert (kept["active"], "externalId" in kept) == (False, False)
    await provider.patch(f"{USERS}/{ann}", ("replace", None, {"active": True}))
    assert (await doors.ask(session, "GET", "/v1/me"))[0] == 401
    again = await log_in(doors, "ann@corp.com")
    await provider.ask("DELETE", f"{USERS}/{ann}", expected=204)
    assert (await doors.ask(again, "GET", "/v1/me"))[0] == 401
    await provider.ask("GET", f"{USERS}/{ann}", expected=404)
    await provider.ask("DELETE", f"{USERS}/{ann}", expected=404)


async def test_groups_of_the_provider_carry_the_roles_that_administrators_grant(
    provider: Provider,
) -> None:
    """Whoever joins may, whoever leaves may not."""
    doors = provider.doors
    ann, bob = await provider.user("ann", password=PASSWORD), await provider.user("bob")
    made = await provider.ask(
        "POST", GROUPS, {"displayName": "Händler & Co", "members": [{"value": bob}]}, 201
    )
    group = f"{GROUPS}/{made['id']}"
    grant = {"group": "Handler-Co", "role": "view"}
    assert (await doors.ask(ROOT, "POST", "/v1/grants", grant))[0] == 200
    session = await log_in(doors, "ann")
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 403
    await provider.patch(group, ("Add", "members", [{"value": ann}]), expected=204)
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 200
    shown = await provider.ask("GET", group)
    assert (shown["displayName"], [one["value"] for one in shown["members"]]) == (
        "Händler & Co", [ann, bob],
    )  # fmt: skip
    of_ann = await provider.ask("GET", f"{USERS}/{ann}")
    assert of_ann["groups"] == [{"value": made["id"], "display": "Händler & Co"}]
    assert "members" not in await provider.ask("GET", f"{group}?excludedAttributes=members")
    only = await provider.ask("GET", f"{group}?attributes=displayName")
    assert set(only) == {"schemas", "id", "displayName"}
    # Renamed, it stays the same group with the same grants and members.
    okta = ("replace", None, {"id": made["id"], "displayName": "Traders"})
    await provider.patch(group, okta, expected=204)
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 200
    await provider.patch(group, ("remove", f'members[value eq "{ann}"]', None), expected=204)
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 403
    put = {"displayName": "Traders", "members": [{"value": ann}]}
    replaced = await provider.ask("PUT", group, put)
    assert [one["display"] for one in replaced["members"]] == ["ann"]
    await provider.ask("DELETE", group, expected=204)
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 403
    assert (await provider.ask("GET", f"{USERS}/{ann}"))["groups"] == []


async def test_things_are_found_by_filter_and_page(provider: Provider) -> None:
    """As Entra looks before it makes anything; nothing found is an empty list."""
    ann, bob = await provider.user("Ann", externalId="e-1"), await provider.user("bob")
    made = await provider.ask(
        "POST", GROUPS, {"displayName": "Ops", "externalId": "g", "members": [{"value": ann}]}, 201
    )
    ops = made["id"]
    assert await provider.found(USERS, 'userName eq "aNN"') == [ann]
    assert await provider.found(USERS, 'externalId eq "e-1" or userName eq "nobody"') == [ann]
    assert await provider.found(USERS, 'userName eq "nobody"') == []
    assert await provider.found(USERS, f'id eq "{bob}"') == [bob]
    (root,) = await provider.found(USERS, 'userName eq "root"')
    assert await provider.found(GROUPS, 'displayName eq "ops"') == [ops]
    assert await provider.found(GROUPS, f'id eq "{ops}" and members eq "{ann}"') == [ops]
    assert await provider.found(GROUPS, f'id eq "{ops}" and members.value eq "{bob}"') == []
    for odd in ('userName co "a"', "userName"):
        answer = await provider.ask("GET", f"{USERS}?filter={odd}", expected=400)
        assert (answer["scimType"], answer["status"]) == ("invalidFilter", "400")
    seen = []
    for start in (1, 3):
        page = await provider.ask("GET", f"{USERS}?startIndex={start}&count=2")
        assert (page["totalResults"], page["startIndex"]) == (3, start)
        seen += [one["id"] for one in page["Resources"]]
    assert sorted(seen) == sorted([ann, bob, root])
    assert (await provider.ask("GET", f"{USERS}?count=-1"))["Resources"] == []
    answer = await provider.ask("GET", f"{USERS}?count=many", expected=400)
    assert answer["scimType"] == "invalidValue"


async def test_a_name_is_taken_once(provider: Provider) -> None:
    """Whoever has it, and in whatever case: 409."""
    ann = await provider.user("ann")
    await provider.ask("POST", GROUPS, {"displayName": "Ops"}, 201)
    for method, path, body in (
        ("POST", USERS, {"userName": "ANN"}),
        ("POST", USERS, {"userName": "root"}),
        ("PUT", f"{USERS}/{ann}", {"userName": "Root"}),
        ("POST", GROUPS, {"displayName": "ops"}),
        ("POST", GROUPS, {"displayName": "Ops !"}),
    ):
        answer = await provider.ask(method, path, body, 409)
        assert answer["scimType"] == "uniqueness"
        assert answer["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"]


async def test_a_renamed_user_keeps_id_roles_groups_and_sessions(provider: Provider) -> None:
    """One that Lockstep made itself, too, and then the old name is free."""
    doors = provider.doors
    await add(doors, "ann", role="view", password=PASSWORD)
    session = await log_in(doors, "ann")
    (ann,) = await provider.found(USERS, 'userName eq "ann"')
    made = await provider.ask(
        "POST", GROUPS, {"displayName": "O", "members": [{"value": ann}]}, 201
    )
    after = await provider.patch(f"{USERS}/{ann}", ("replace", "userName", "ann.b"))
    assert (after["id"], after["userName"]) == (ann, "ann.b")
    assert [one["value"] for one in after["groups"]] == [made["id"]]
    assert (await doors.ask(session, "GET", "/v1/me"))[1]["name"] == "ann.b"
    assert (await doors.ask(session, "GET", "/v1/nodes"))[0] == 200
    other = await provider.user("ann")
    assert other != ann
    assert (await provider.ask("GET", f"{USERS}/{ann}"))["userName"] == "ann.b"


@pytest.mark.parametrize(
    ("method", "path", "body", "says"),
    [
        ("POST", USERS, {"userName": "a b"}, "invalidValue"),
        ("POST", USERS, {"userName": "ann", "password": "short"}, "invalidValue"),
        ("POST", USERS, {"userName": "ann", "active": "perhaps"}, "invalidValue"),
        ("POST", USERS, {"userName": "ann", "externalId": "x" * 300}, "invalidValue"),
        ("POST", USERS, [], "invalidValue"),
        ("POST", GROUPS, {"displayName": "!!"}, "invalidValue"),
        ("POST", GROUPS, {"displayName": "a", "members": [{"value": "nobody"}]}, "invalidValue"),
        ("PATCH", f"{USERS}/{{root}}", {}, "invalidSyntax"),
        ("PATCH", f"{USERS}/{{root}}", {"Operations": [{"value": 1}]}, "invalidSyntax"),
        ("PATCH", f"{USERS}/{{root}}", {"Operations": [{"op": "replace", "path": "active",
                                                    "value": False}]}, "invalidValue"),
    ],
)  # fmt: skip
async def test_what_cannot_be_is_refused_in_scims_form(
    provider: Provider, method: str, path: str, body: Any, says: str
) -> None:
    """The last administrator stays, and nothing half is done."""
    (root,) = await provider.found(USERS, 'userName eq "root"')
    answer = await provider.ask(method, path.format(root=root), body, 400)
    assert (answer["scimType"], answer["status"]) == (says, "400")
    assert (await provider.ask("GET", USERS))["totalResults"] == 1
    assert (await provider.ask("GET", GROUPS))["totalResults"] == 0


async def test_what_is_supported_is_announced(provider: Provider) -> None:
    """And each kind of resource names a schema that there is."""
    config = await provider.ask("GET", "/scim/v2/ServiceProviderConfig")
    assert (config["patch"], config["bulk"]["supported"]) == ({"supported": True}, False)
    kinds = await provider.ask("GET", "/scim/v2/ResourceTypes")
    schemas = await provider.ask("GET", "/scim/v2/Schemas")
    named = {one["schema"] for one in kinds["Resources"]}
    assert named == {one["id"] for one in schemas["Resources"]}
    await provider.ask("GET", "/scim/v2/Schemas?filter=x", expected=403)


async def test_only_administrators_are_let_in_and_the_audit_log_names_whom_it_was_about(
    provider: Provider,
) -> None:
    """The token of a service with less is refused."""
    doors = provider.doors
    ann = await provider.user("ann")
    await provider.patch(f"{USERS}/{ann}", ("replace", "active", False))
    less = {"name": "less", "grants": [{"role": "code"}]}
    _, made = await doors.ask(ROOT, "POST", "/v1/tokens", less)
    assert (await doors.ask(bearer(made["token"]), "GET", USERS))[0] == 403
    assert (await doors.ask(None, "GET", USERS))[0] == 401
    assert (await doors.ask(bearer(CLUSTER), "GET", USERS))[0] == 200
    async with asyncio.timeout(30):
        told: set[tuple[str, str, str, int]] = set()
        while ("nobody", "GET", USERS, 401) not in told:
            _, answer = await doors.ask(ROOT, "GET", "/v1/audit")
            told = {(e["who"], e["method"], e["path"], e["status"]) for e in answer["entries"]}
            await asyncio.sleep(0.05)
    assert ("token idp", "POST", f"{USERS} (user ann)", 201) in told
    assert ("token idp", "PATCH", f"{USERS}/{ann} (user ann, deactivated)", 200) in told
