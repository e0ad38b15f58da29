"""Filters and patches of SCIM, as values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockstep_services.coordinator.scim.errors import ScimError
from lockstep_services.coordinator.scim.filters import Equals, Every, Some, matches, parsed
from lockstep_services.coordinator.scim.patches import (
    GROUP,
    USER,
    Attributes,
    Operation,
    patched,
    written,
)

KNOWN = {"id", "username", "externalid", "displayname", "members", "members.value", "active"}
ANN: Attributes = {"username": "ann", "externalid": "e1", "displayname": "Ann", "active": True}

OPS: Attributes = {"displayname": "Ops", "externalid": "", "members": frozenset("12")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('userName eq "Ann"', Equals("username", "Ann")),
        ('USERNAME EQ "Ann"', Equals("username", "Ann")),
        ('urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a"', Equals("username", "a")),
        ('externalId eq "say \\"hi\\" \\u00e9"', Equals("externalid", 'say "hi" é')),
        ("active eq True", Equals("active", "true")),
        ('members[value eq "7"]', Equals("members.value", "7")),
        ('members.value eq "7"', Equals("members.value", "7")),
        (
            'id eq "1" or id eq "2" and displayName eq "x"',
            Some((Equals("id", "1"), Every((Equals("id", "2"), Equals("displayname", "x"))))),
        ),
        (
            '(id eq "1" or id eq "2") and (displayName eq "x")',
            Every((Some((Equals("id", "1"), Equals("id", "2"))), Equals("displayname", "x"))),
        ),
    ],
)
def test_what_providers_ask_is_read(text: str, expected: object) -> None:
    """`and` binds closer than `or`; brackets bind closest."""
    assert parsed(text, KNOWN) == expected


@pytest.mark.parametrize(
    "text",
    [
        'userName co "a"', 'userName sw "a"', "userName pr", 'not (id eq "1")', 'emails eq "a"',
        'userName eq "a', "userName eq a", "userName eq 1", "id eq true", 'id eq "\\x"', "eq",
        '"a"',
        'id eq "1" and', 'id eq "1" id eq "2"', '(id eq "1"', 'id eq "1")', "members[", "members[]",
        'members[value eq "1"', 'members[display eq "1"]', '; id eq "1"', "(" * 500,
        "(" * 30 + 'id eq "1"' + ")" * 30, 'id eq "' + "x" * 2_000 + '"', 'id eq "\ud800"',
    ],
)  # fmt: skip
def test_anything_else_is_an_invalid_filter(text: str) -> None:
    """Never an answer to another question."""
    with pytest.raises(ScimError) as caught:
        parsed(text, KNOWN)
    assert (caught.value.kind, caught.value.status) == ("invalidFilter", 400)


@given(st.text(max_size=60))
def test_no_text_ends_otherwise_than_as_a_filter_or_a_refusal(text: str) -> None:
    """Strangers write it."""
    try:
        found = parsed(text, KNOWN)
    except ScimError:
        return
    assert isinstance(found, Equals | Every | Some)


def test_names_are_compared_without_case_and_identities_with_it() -> None:
    """As RFC 7643 says of each attribute."""
    facts = {"username": {"Ann"}, "externalid": {"E1"}, "members": {"1", "2"}}
    for text, expected in (
        ('userName eq "aNN"', True),
        ('externalId eq "e1"', False),
        ('externalId eq "E1"', True),
        ('members eq "2" and userName eq "ann"', True),
        ('members eq "3" or userName eq "bob"', False),
        ('displayName eq ""', False),
    ):
        assert matches(parsed(text, KNOWN), facts) is expected, text


@pytest.mark.parametrize(
    ("operations", "changed"),
    [
        ([("Replace", "active", "False")], {"active": False}),
        ([("replace", "active", "tRUE")], {}),
        ([("Replace", None, {"active": False})], {"active": False}),
        ([("add", None, {"name.givenName": "A", "displayName": "B"})], {"displayname": "B"}),
        ([("Add", "externalId", [{"$ref": None, "value": "e2"}])], {"externalid": "e2"}),
        ([("Replace", 'emails[type eq "work"].value', "a@b.c")], {}),
        ([("Replace", "urn:ietf:params:scim:schemas:core:2.0:User:userName", "bob")],
         {"username": "bob"}),
        ([("Add", "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "x")],
         {}),
        ([("remove", "externalId", None)], {"externalid": ""}),
        ([("replace", "displayName", None)], {"displayname": ""}),
        ([("replace", None, {"id": "other", "schemas": [], "userName": "bob"})],
         {"username": "bob"}),
        ([("add", "displayName", "1"), ("add", "displayName", "2")], {"displayname": "2"}),
    ],
)  # fmt: skip
def test_a_user_is_changed_as_entra_and_okta_ask(
    operations: list[tuple[str, str | None, Any]], changed: dict[str, Any]
) -> None:
    """And what nobody keeps here is passed over."""
    assert patched(ANN, [Operation(*one) for one in operations], USER) == {**ANN, **changed}


@pytest.mark.parametrize(
    ("operations", "kind"),
    [
        ([], "invalidSyntax"),
        ([("move", "active", True)], "invalidSyntax"),
        ([("remove", None, None)], "noTarget"),
        ([("replace", None, "x")], "invalidValue"),
        ([("replace", "active", "perhaps")], "invalidValue"),
        ([("replace", "active", 1)], "invalidValue"),
        ([("remove", "active", None)], "mutability"),
        ([("remove", "userName", None)], "mutability"),
        ([("replace", "userName", "")], "invalidValue"),
        ([("replace", "userName", 7)], "invalidValue"),
        ([("replace", "id", "x")], "mutability"),
        ([("add", "groups", [{"value": "x"}])], "mutability"),
        ([("add", "a b", "x")], "invalidPath"),
        ([("replace", "members[", "x")], "invalidPath"),
    ],
)
def test_what_cannot_be_is_refused_with_its_keyword(
    operations: list[tuple[str, str | None, Any]], kind: str
) -> None:
    """Of RFC 7644, table 9."""
    with pytest.raises(ScimError) as caught:
        patched(ANN, [Operation(*one) for one in operations], USER)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("operation", "left"),
    [
        (("Add", "members", [{"value": "3"}]), "123"),
        (("add", None, {"members": [{"value": "3"}, {"value": "1"}]}), "123"),
        (("replace", "members", [{"value": "3"}]), "3"),
        (("replace", "members", []), ""),
        (("Remove", "members", [{"$ref": None, "value": "1"}]), "2"),
        (("remove", 'members[value eq "2"]', None), "1"),
        (("remove", 'members[value eq "2" or value eq "1"]', None), ""),
        (("remove", 'members[value eq "9"]', None), "12"),
        (("remove", "members", None), ""),
        (("add", "members", {"value": "3"}), "123"),
    ],
)
def test_members_come_and_go(operation: tuple[str, str | None, Any], left: str) -> None:
    """By path, by filter, and as Entra says it."""
    after = patched(OPS, [Operation(*operation)], GROUP)
    assert after == {**OPS, "members": frozenset(left)}


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (("add", "members", ["3"]), "invalidValue"),
        (("add", "members", [{"display": "x"}]), "invalidValue"),
        (("replace", 'members[value eq "2"]', {"value": "3"}), "invalidPath"),
        (("remove", 'members[display eq "2"]', None), "invalidFilter"),
    ],
)
def test_members_that_cannot_be_are_refused(
    operation: tuple[str, str | None, Any], kind: str
) -> None:
    """Members are users by their id."""
    with pytest.raises(ScimError) as caught:
        patched(OPS, [Operation(*operation)], GROUP)
    assert caught.value.kind == kind


def test_a_whole_resource_needs_its_name() -> None:
    """All else may be missing."""
    assert written({"USERNAME": "ann", "emails": [{}]}, USER) == {"username": "ann"}
    strange: list[Any] = [{}, {"userName": ""}, {"userName": None}, [], "ann"]
    for wrong in strange:
        with pytest.raises(ScimError) as caught:
            written(wrong, USER)
        assert caught.value.kind in ("invalidValue", "mutability")
