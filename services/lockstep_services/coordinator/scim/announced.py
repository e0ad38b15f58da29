"""What the coordinator says of its SCIM (RFC 7643, 5 to 7): what it can, and what it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lockstep_services.coordinator.scim.resources import GROUP_SCHEMA, USER_SCHEMA

MAX_PAGE: Final = 500
_PREFIX: Final = "urn:ietf:params:scim:schemas:core:2.0"
_NOT: Final = {"supported": False}
CONFIG: Final[Mapping[str, Any]] = {
    "schemas": [f"{_PREFIX}:ServiceProviderConfig"],
    "patch": {"supported": True},
    "bulk": {**_NOT, "maxOperations": 0, "maxPayloadSize": 0},
    "filter": {"supported": True, "maxResults": MAX_PAGE},
    "changePassword": {"supported": True},
    "sort": _NOT,
    "etag": _NOT,
    "authenticationSchemes": [
        {
            "type": "oauthbearertoken",
            "name": "Token of a service",
            "description": "Authorization: Bearer, with a token that has the role administer",
            "primary": True,
        }
    ],
    "meta": {"resourceType": "ServiceProviderConfig"},
}


def _kind(name: str, schema: str) -> Mapping[str, Any]:
    return {
        "schemas": [f"{_PREFIX}:ResourceType"],
        "id": name,
        "name": name,
        "endpoint": f"/{name}s",
        "schema": schema,
        "meta": {"resourceType": "ResourceType"},
    }


def _attribute(name: str, **more: Any) -> Mapping[str, Any]:
    return {
        "name": name,
        "type": "string",
        "multiValued": False,
        "required": False,
        "caseExact": True,
        "mutability": "readWrite",
        "returned": "default",
        "uniqueness": "none",
        **more,
    }


def _schema(identity: str, name: str, attributes: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return {
        "schemas": [f"{_PREFIX}:Schema"],
        "id": identity,
        "name": name,
        "attributes": attributes,
        "meta": {"resourceType": "Schema"},
    }


RESOURCE_TYPES: Final = (_kind("User", USER_SCHEMA), _kind("Group", GROUP_SCHEMA))
_NAMING: Final[Mapping[str, Any]] = {"required": True, "caseExact": False, "uniqueness": "server"}
_READ_ONLY: Final[Mapping[str, Any]] = {"mutability": "readOnly"}
SCHEMAS: Final = (
    _schema(
        USER_SCHEMA,
        "User",
        (
            _attribute("userName", **_NAMING),
            _attribute("displayName", caseExact=False),
            _attribute("active", type="boolean"),
            _attribute("password", mutability="writeOnly", returned="never"),
            _attribute(
                "groups", type="complex", multiValued=True, **_READ_ONLY,
                subAttributes=[
                    _attribute("value", **_READ_ONLY), _attribute("display", **_READ_ONLY),
                ],
            ),
        ),
    ),
    _schema(
        GROUP_SCHEMA,
        "Group",
        (
            _attribute("displayName", **_NAMING),
            _attribute(
                "members", type="complex", multiValued=True,
                subAttributes=[
                    _attribute("value", mutability="immutable"),
                    _attribute("type", mutability="immutable", canonicalValues=["User"]),
                    _attribute(
                        "$ref", type="reference", mutability="immutable", referenceTypes=["User"]
                    ),
                    _attribute("display", **_READ_ONLY),
                ],
            ),
        ),
    ),
)  # fmt: skip
