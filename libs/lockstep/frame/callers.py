"""Who calls: what a request shows, turned into a caller that is known, or nobody."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections import OrderedDict
from http import HTTPStatus
from typing import Final

from aiohttp import web

from lockstep.clock import Clock, Randomness
from lockstep.events import LockstepError
from lockstep.frame.accounts import AccountBook
from lockstep.frame.offload import Offload
from lockstep.frame.openid import Provider
from lockstep.frame.problems import Problem
from lockstep.rights import Kind, Permission, Principal, administrator, check
from lockstep.rights.accounts import MAX_NAME_CHARACTERS, id_of
from lockstep.rights.attempts import Attempts
from lockstep.rights.openid import is_signed
from lockstep.rights.passwords import fits
from lockstep.settings import RightsSettings

TOKEN_COOKIE: Final = "lockstep_token"
BEARER_PROTOCOL: Final = "lockstep.bearer."
FORWARDED_FOR: Final = "X-Forwarded-For"
MAX_ADDRESS_CHARACTERS: Final = 60
MAX_KEPT_PASSWORDS: Final = 1_000
MAX_WAITING: Final = 20
FROM_ALL: Final = 10
_CALLER: Final[web.RequestKey[Principal | None]] = web.RequestKey("lockstep.caller")


class Passwords:
    """Checks users' passwords: in a thread, a few at a time, and not without end."""

    def __init__(
        self,
        book: AccountBook,
        clock: Clock,
        randomness: Randomness,
        settings: RightsSettings,
        offload: Offload,
    ) -> None:
        self._book = book
        self._clock = clock
        self._settings = settings
        self._offload = offload
        self._key = randomness.secret().encode()
        self._kept: OrderedDict[bytes, int] = OrderedDict()
        within_ms = settings.login_within_ms
        self._from_one = Attempts(settings.login_attempts, within_ms)
        self._from_all = Attempts(settings.login_attempts * FROM_ALL, within_ms)
        self._waiting = 0

    async def principal(self, name: str, password: str, address: str) -> Principal | None:
        """The user, if that is the password. Problem 429 after too many that were not."""
        now_ms = self._clock.monotonic_ms()
        user = self._book.directory.active(name)
        kept = "" if user is None else user.password
        seen = self._digest(name, kept, password)
        if user is not None and self._kept.get(seen, 0) > now_ms:
            return self._book.directory.principal_of(user)
        one, everyone = f"{name}\n{address}", name
        wait_ms = max(self._from_one.wait_ms(one, now_ms), self._from_all.wait_ms(everyone, now_ms))
        if wait_ms or self._waiting >= MAX_WAITING:
            raise Problem(
                HTTPStatus.TOO_MANY_REQUESTS, "too many log-ins failed, or are under way",
                retry_after_ms=wait_ms or 1_000,
            )  # fmt: skip
        self._waiting += 1
        try:
            is_right = await self._offload.run(lambda: fits(kept, password))
        finally:
            self._waiting -= 1
        if user is None or not is_right:
            self._from_one.failed(one, now_ms)
            self._from_all.failed(everyone, now_ms)
            return None
        self._from_one.succeeded(one)
        self._keep(seen, now_ms)
        user = self._book.directory.active(name)  # who may have another password meanwhile, or none
        if user is None or user.password != kept:
            return None
        return self._book.directory.principal_of(user)

    def _digest(self, *parts: str) -> bytes:
        """Of what was right, under a key that ends with this process."""
        joined = "\0".join(str(len(part)) + ":" + part for part in parts)
        return hmac.digest(self._key, joined.encode(), hashlib.sha256)

    def _keep(self, seen: bytes, now_ms: int) -> None:
        self._kept[seen] = now_ms + self._settings.password_kept_ms
        self._kept.move_to_end(seen)
        while len(self._kept) > MAX_KEPT_PASSWORDS:
            self._kept.popitem(last=False)


class Callers:
    """Knows callers by what they show. `token`: the secret that all processes of the cluster
    share, which is an administrator's token, too. A door asks for something as soon as there is
    that token or a user."""

    def __init__(
        self,
        token: str,
        clock: Clock,
        book: AccountBook | None = None,
        passwords: Passwords | None = None,
        provider: Provider | None = None,
    ) -> None:
        self._token = token
        self._clock = clock
        self._book = book
        self._passwords = passwords
        self._provider = provider

    @property
    def are_asked(self) -> bool:
        """Whether callers have to show anything."""
        has_users = self._book is not None and bool(self._book.directory.users)
        return bool(self._token) or self._provider is not None or has_users

    async def of(self, request: web.Request) -> Principal | None:
        """None: nobody that is known. UnavailableError, Problem 429."""
        if not self.are_asked:
            return self._at_an_open_door()
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        found: Principal | None = None
        if (shown := bearer_of(request)) is not None:
            found = await self.by_token(shown)
        elif kind.lower() == "basic":
            found = await self._by_basic(given.strip(), self.address_of(request))
        else:
            found = await self.by_token(request.cookies.get(TOKEN_COOKIE, ""))
        return found

    def _at_an_open_door(self) -> Principal:
        """UnavailableError as long as nobody knows whether there are users."""
        if self._book is not None and not self._book.is_read:
            self._book.check_fresh()
        return administrator(Kind.ANYBODY)

    async def by_token(self, given: str) -> Principal | None:
        """Whose token it is; StrangerError says what is wrong with one of the provider's."""
        if self._token and _same(given, self._token):
            return administrator(Kind.CLUSTER)
        identity = id_of(given)
        if identity is None and self._provider is not None and is_signed(given):
            found = await self._provider.person(given)
            if self._book is None:
                return found
            self._book.check_fresh()  # the person may have been deactivated
            return None if self._book.directory.bars(found) else found
        if identity is None or self._book is None:
            return None
        if identity not in self._book.directory.tokens:
            await self._book.look_again()
        self._book.check_fresh()
        return self._book.directory.by_token(given, self._clock.now_ms())

    async def by_password(self, name: str, password: str, address: str) -> Principal | None:
        """The user, if that is the password. `address`: of who tries it, see `address_of`."""
        if self._book is None or self._passwords is None:
            return None
        if len(name) > MAX_NAME_CHARACTERS:  # of nobody, and nothing to remember it by
            return None
        if name not in self._book.directory.users:
            await self._book.look_again()
        self._book.check_fresh()
        return await self._passwords.principal(name, password, address)

    def address_of(self, request: web.Request) -> str:
        """Of who tries a password: who is connected, or for whom that one asks, which is believed
        of a console: it shows the cluster's token. Else all people at a console would wait for
        what one of them mistyped."""
        told = request.headers.get(FORWARDED_FOR, "").partition(",")[0].strip()
        if told and self._token and _same(bearer_of(request) or "", self._token):
            return told[:MAX_ADDRESS_CHARACTERS]
        return request.remote or ""

    def still(self, caller: Principal | None) -> Principal | None:
        """What a caller who came in earlier is now; None: nobody any more. UnavailableError where
        nobody has known for too long."""
        if caller is None or caller.kind is Kind.CLUSTER or self._book is None:
            return caller
        if caller.kind is Kind.ANYBODY:
            return None if self.are_asked else caller
        self._book.check_fresh()
        return self._book.directory.still(caller, self._clock.now_ms())

    async def _by_basic(self, given: str, address: str) -> Principal | None:
        try:
            name, colon, password = base64.b64decode(given, validate=True).decode().partition(":")
        except ValueError:  # letters that are no base64, or no text in it
            return None
        return await self.by_password(name, password, address) if colon else None


def bearer_of(request: web.Request) -> str | None:
    """The token in the header, or, as browsers give it to a WebSocket, in an offered subprotocol:
    `lockstep.bearer.` and the token in base64url without padding."""
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    for offered in () if kind else offered_protocols(request):
        if offered.startswith(BEARER_PROTOCOL):
            encoded = offered.removeprefix(BEARER_PROTOCOL)
            try:
                return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
            except ValueError:
                return ""
    return None


def offered_protocols(request: web.Request) -> list[str]:
    """What a WebSocket client would speak, as it prefers."""
    lines = request.headers.getall("Sec-WebSocket-Protocol", ())
    return [one.strip() for line in lines for one in line.split(",") if one.strip()]


def opens_socket(request: web.Request) -> bool:
    """Whether it asks for a WebSocket: a GET that no page is kept from sending elsewhere."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


def remember(request: web.Request, caller: Principal | None) -> None:
    """For the handler."""
    request[_CALLER] = caller


def caller_of(request: web.Request) -> Principal | None:
    """Who the door found it to be."""
    return request.get(_CALLER)


def require(request: web.Request, permission: Permission, app: str | None = None) -> None:
    """Raises StrangerError or ForbiddenError; `app` None: everywhere."""
    check(caller_of(request), permission, app)


def may(request: web.Request, permission: Permission, app: str | None = None) -> bool:
    """Whether `require` would pass; for answers that show what the caller may see."""
    try:
        require(request, permission, app)
    except LockstepError:
        return False
    return True
