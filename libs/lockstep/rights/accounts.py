"""Users, groups, service tokens and sessions: one value, and the changes that it allows. Pure."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import msgspec

from lockstep.events import Fault, LockstepError
from lockstep.events.typed import from_json
from lockstep.rights.model import EVERYWHERE, Grant, Kind, Principal, Role

PREFIX: Final = "lockstep"
ID_CHARACTERS: Final = 12
MAX_NAME_CHARACTERS: Final = 100
_TAKEN: Final = "~"
"""Before an id that was made up; no name and no other id begins with it."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@+-]{0,99}", re.ASCII)
NAME_HINT: Final = "letters, digits and _ . @ + -, at most 100, a letter or digit first"
Thing = TypeVar("Thing")
Kept = TypeVar("Kept", "User", "Group")


class AccountError(LockstepError):
    """A change of accounts that is not possible."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class User:
    """`password`: an argon2 hash; empty until the user has chosen one. `active`: whether anything
    of this user's lets anybody in. `id`: given once, what SCIM calls this user. `external_id`,
    `display_name`: of an identity provider that keeps this user, by SCIM."""

    name: str
    created_ms: int
    password: str = ""
    grants: frozenset[Grant] = frozenset()
    groups: frozenset[str] = frozenset()
    active: bool = True
    id: str = ""
    external_id: str = ""
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """What its members may. `id`, `external_id`, `display_name`: as a user's."""

    name: str
    grants: frozenset[Grant] = frozenset()
    id: str = ""
    external_id: str = ""
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class Token:
    """Of a service, or of a user who has logged in (`user`). `digest`: SHA-256 of the token, which
    nobody keeps. `invites`: it is good for choosing that user's password, once, and for nothing
    else."""

    id: str
    name: str
    digest: str
    created_ms: int
    expires_ms: int
    grants: frozenset[Grant] = frozenset()
    user: str | None = None
    invites: bool = False


@dataclass(frozen=True, slots=True)
class Directory:
    """All accounts at one revision."""

    revision: int = 0
    users: Mapping[str, User] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    tokens: Mapping[str, Token] = field(default_factory=dict)
    barred: frozenset[str] = frozenset()
    """Names of deactivated users, in small letters: a person whom an OpenID Connect provider calls
    so is nobody, either."""

    def bars(self, person: Principal) -> bool:
        """Whether that person is a user who was deactivated."""
        return person.name.casefold() in self.barred

    def principal_of(self, user: User) -> Principal:
        """With what its groups were granted."""
        grants = set(user.grants)
        for name in user.groups:
            grants |= self.groups[name].grants if name in self.groups else set()
        return Principal(Kind.USER, user.name, frozenset(grants), password_hash=user.password)

    def token(self, given: str, now_ms: int) -> Token | None:
        """The live one that this is, in constant time for a known id; none of a user who is not
        active."""
        found = self.tokens.get(id_of(given) or "")
        if found is None or not hmac.compare_digest(found.digest, digest_of(given)):
            return None
        if found.user is not None and self.active(found.user) is None:
            return None
        return found if now_ms < found.expires_ms else None

    def active(self, name: str) -> User | None:
        """The user of that name, unless deactivated."""
        found = self.users.get(name)
        return found if found is not None and found.active else None

    def by_token(self, given: str, now_ms: int) -> Principal | None:
        """Whose it is; None: nobody's that may come in with it."""
        found = self.token(given, now_ms)
        if found is None or found.invites:
            return None
        return self._of(found)

    def still(self, caller: Principal, now_ms: int) -> Principal | None:
        """What a caller who came in earlier is now; None: nobody any more."""
        if caller.kind is Kind.PERSON:
            return caller if now_ms < caller.expires_ms and not self.bars(caller) else None
        if caller.token:
            found = self.tokens.get(caller.token)
            return None if found is None or found.expires_ms <= now_ms else self._of(found)
        user = self.active(caller.name)
        if user is None or user.password != caller.password_hash:
            return None
        return self.principal_of(user)

    def _of(self, token: Token) -> Principal | None:
        if token.user is None:
            return Principal(Kind.TOKEN, token.name, token.grants, token.id)
        user = self.active(token.user)
        return None if user is None else replace(self.principal_of(user), token=token.id)

    @property
    def administrators(self) -> Sequence[str]:
        """Active users who may everything."""
        ruling = Grant(Role.ADMINISTER)
        active = [one for one in self.users.values() if one.active]
        return [one.name for one in active if ruling in self.principal_of(one).grants]


@dataclass(frozen=True, slots=True)
class Account:
    """As it is stored: a kind, a name in it, JSON."""

    kind: str
    name: str
    text: str


Stored = User | Group | Token
_KINDS: Final[Mapping[str, type[Stored]]] = {"user": User, "group": Group, "token": Token}


def stored(one: Stored) -> Account:
    """For the store."""
    name = one.id if isinstance(one, Token) else one.name
    kind = next(kind for kind, of in _KINDS.items() if of is type(one))
    return Account(kind, name, msgspec.json.encode(one, order="sorted").decode())


def directory(revision: int, accounts: Iterable[Account]) -> Directory:
    """Of what is stored; kinds of later releases are left alone."""
    found: dict[str, dict[str, Stored]] = {kind: {} for kind in _KINDS}
    for one in accounts:
        if one.kind in _KINDS:
            found[one.kind][one.name] = from_json(one.text, _KINDS[one.kind])
    users = _with_ids(_only(User, found["user"]))
    return Directory(
        revision,
        users,
        _with_ids(_only(Group, found["group"])),
        _only(Token, found["token"]),
        frozenset(one.name.casefold() for one in users.values() if not one.active),
    )


def _only(kind: type[Thing], found: Mapping[str, object]) -> dict[str, Thing]:
    return {name: one for name, one in found.items() if isinstance(one, kind)}


def _with_ids(found: Mapping[str, Kept]) -> dict[str, Kept]:
    """Users and groups that earlier releases made without an id have their name for one. Where that
    is somebody else's, who had the name before, another is made up."""
    taken, named_so = {one.id for one in found.values()}, dict(found)
    for name, one in found.items():
        if not one.id:
            identity = name
            while identity in taken:
                identity = _TAKEN + identity
            named_so[name] = replace(one, id=identity)
    return named_so


@dataclass(frozen=True, slots=True)
class Change:
    """What is put, and what is taken away (kind and name)."""

    put: Sequence[Stored] = ()
    remove: Sequence[tuple[str, str]] = ()


def checked(before: Directory, change: Change) -> Directory:
    """What comes of it. AccountError where no user could administer afterwards, or the last user
    goes: a door that asks for nothing until there is a user would be open again."""
    users, groups, tokens = dict(before.users), dict(before.groups), dict(before.tokens)
    for kind, name in change.remove:
        of: dict[str, dict[str, Any]] = {"user": users, "group": groups, "token": tokens}
        of[kind].pop(name, None)
    for one in change.put:
        if isinstance(one, User):
            users[one.name] = one
        elif isinstance(one, Group):
            groups[one.name] = one
        else:
            tokens[one.id] = one
    after = Directory(before.revision, users, groups, tokens)
    if before.users and not after.users:
        raise AccountError(
            "the last user cannot be removed: nobody would be asked who they are any more",
            hint="add another user with the role administer first",
        )
    if after.users and not after.administrators:
        raise AccountError(
            "no user could administer the suite after this",
            hint="give one of them the role administer everywhere first",
        )
    return after


def named(name: str, what: str) -> str:
    """AccountError for what can be no name of a user, group or token."""
    if not _NAME.fullmatch(name):
        raise AccountError(f"this is no name for a {what}", hint=NAME_HINT)
    return name


def gone_with(before: Directory, user: str) -> Change:
    """A user, and everything that lets that user in."""
    return Change(_made_up(before.users, user), [("user", user), *entries_of(before, user)])


def group_gone_with(before: Directory, group: str) -> Change:
    """A group, and what it gave its members, who stay."""
    members = [one for one in before.users.values() if group in one.groups]
    left = [replace(one, groups=one.groups - {group}) for one in members]
    return Change([*left, *_made_up(before.groups, group)], [("group", group)])


def _made_up(things: Mapping[str, Kept], gone: str) -> list[Kept]:
    """Ids that were made up are written down before one goes: nobody gets the id of who is gone,
    whom an identity provider may ask to remove again."""
    return [one for name, one in things.items() if name != gone and one.id.startswith(_TAKEN)]


def entries_of(before: Directory, user: str) -> Sequence[tuple[str, str]]:
    """That user's sessions and invitations."""
    return [("token", one.id) for one in before.tokens.values() if one.user == user]


def stale(before: Directory, now_ms: int) -> Sequence[tuple[str, str]]:
    """Sessions and invitations that ran out. Tokens of services stay listed until somebody removes
    them."""
    gone = [one for one in before.tokens.values() if one.user and one.expires_ms <= now_ms]
    return [("token", one.id) for one in gone]


def token_text(identity: str, secret: str) -> str:
    """What its owner keeps."""
    return f"{PREFIX}_{identity}_{secret}"


def id_of(token: str) -> str | None:
    """The public part of a token of ours."""
    parts = token.split("_", 2)
    return parts[1] if len(parts) == 3 and parts[0] == PREFIX else None


def digest_of(token: str) -> str:
    """Tokens hold 256 bits of chance: one round is enough, as nobody can guess."""
    return hashlib.sha256(token.encode()).hexdigest()


def grant_of(role: str, app: str | None) -> Grant:
    """`app` None: everywhere. AccountError for a role that there is not, and for an app without a
    name: whoever left it out by mistake would give the role everywhere."""
    if app is not None and not app.strip():
        raise AccountError("which app? its name is empty", hint="without any app: everywhere")
    try:
        return Grant(Role(role), EVERYWHERE if app is None else app)
    except ValueError:
        raise AccountError(
            f"there is no role '{role[:40]}'", hint=f"roles: {', '.join(Role)}"
        ) from None
