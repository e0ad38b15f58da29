"""SCIM 2.0 over HTTP (RFC 7644): users and groups, by whoever may administer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aiohttp import web

from lockstep.clock import Randomness
from lockstep.frame.accounts import AccountBook
from lockstep_services.coordinator.logins import Logins
from lockstep_services.coordinator.scim.announced import CONFIG, RESOURCE_TYPES, SCHEMAS
from lockstep_services.coordinator.scim.answers import answering, one_of, page, told
from lockstep_services.coordinator.scim.groups import ScimGroups
from lockstep_services.coordinator.scim.users import ScimUsers

ROOT: Final = "/scim/v2"


def add_scim(
    router: web.UrlDispatcher,
    book: AccountBook,
    logins: Logins,
    randomness: Randomness,
    url: Callable[[], str],
) -> None:
    """The paths. `url`: the address of the door, once it is open."""

    def base() -> str:
        return url() + ROOT

    for method, path, handler in (
        ("GET", "/ServiceProviderConfig", told(CONFIG)),
        ("GET", "/ResourceTypes", told(page(RESOURCE_TYPES, len(RESOURCE_TYPES)))),
        ("GET", "/ResourceTypes/{kind}", one_of(RESOURCE_TYPES, "kind")),
        ("GET", "/Schemas", told(page(SCHEMAS, len(SCHEMAS)))),
        ("GET", "/Schemas/{schema}", one_of(SCHEMAS, "schema")),
        *ScimUsers(book, logins, base).handlers,
        *ScimGroups(book, randomness, base).handlers,
    ):
        router.add_route(method, ROOT + path, answering(handler))
