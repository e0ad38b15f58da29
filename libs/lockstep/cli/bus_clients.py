"""Accounts of a NATS server for those who send to apps or view them over the bus.

Each client gets an account of its own, and the suite exports to it what the client may. Permissions
of users in one account would not do: JetStream answers to whatever subject a sender names, and so
would write its answers into the logs of other apps, or to its own interface. In an account of its
own the answer reaches nobody but that client.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lockstep.bus.subjects import escaped
from lockstep.embedded.nats_server import SUITE_ACCOUNT
from lockstep.events import Fault, LockstepError
from lockstep.rights import TOPICS, Scope
from lockstep.rights.model import EVERYWHERE, Grant, Role
from lockstep.rights.passwords import MAX_CHARACTERS, MIN_CHARACTERS

INBOXES: Final = "_INBOX.>"
_KINDS: Final = {"publish": "service", "subscribe": "stream"}
"""Of exports. A service gives the sender its answer; a stream flows one way."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BCRYPT: Final = re.compile(r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}")
_SUITE_KEYS: Final = {"user", "password_file", "password_env"}
_CLIENT_KEYS: Final = {"password_file", "send", "view"}


class BusClientsError(LockstepError):
    """A description that cannot be written for the server."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class BusUser:
    """A name, and its password as the server's configuration says it."""

    name: str
    password: str

    def __repr__(self) -> str:
        return f"BusUser({self.name!r})"


@dataclass(frozen=True, slots=True)
class BusClient:
    """A user of the server that is not the suite's own."""

    user: BusUser
    grants: frozenset[Grant]

    def patterns(self, verb: str) -> list[str]:
        """Of subjects that it may publish or subscribe to, by the table of topics."""
        return sorted(
            f"{word}.>" if grant.app == EVERYWHERE else f"{word}.{escaped(grant.app)}.>"
            for grant in self.grants
            for word, permission in _words(verb)
            if permission == grant.role
        )


def read_description(path: Path) -> tuple[BusUser, list[BusClient]]:
    """The suite's own user and the others. BusClientsError.

    Files of passwords are named from the folder of the description.
    """
    try:
        described = tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BusClientsError(f"cannot be read: {error}", where=str(path)) from error
    _known(described, {"suite", "clients"}, str(path))
    suite, clients = _table(described, "suite"), _table(described, "clients")
    own = _suite(suite, path.parent)
    found = [_client(name, _table(clients, name), path.parent) for name in sorted(clients)]
    if own.name in clients:
        raise BusClientsError("is the suite's own user", where=f"clients.{own.name}")
    return own, found


def accounts(suite: BusUser, clients: list[BusClient]) -> str:
    """The block of the server's configuration, to be included in place of `authorization`."""
    exports = [f'{{ {_KINDS[verb]}: "{word}.>" }}' for verb in _KINDS for word, _ in _words(verb)]
    lines = [
        "# Written by `lockstep nats-users`.",
        "accounts {",
        f'  "{SUITE_ACCOUNT}": {{',
        "    jetstream: enabled",
        f"    users: [{{ user: {_quoted(suite.name)}, password: {suite.password} }}]",
        f"    exports: [{', '.join(exports)}]",
        "  }",
        *(line for client in clients for line in _account(client)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _account(client: BusClient) -> list[str]:
    may = {verb: client.patterns(verb) for verb in _KINDS}
    imports = [
        f"{{ {kind}: {{ account: {_quoted(SUITE_ACCOUNT)}, subject: {_quoted(pattern)} }} }}"
        for verb, kind in _KINDS.items()
        for pattern in may[verb]
    ]
    # Inboxes are those of this account: nobody else's answers come there.
    listens = [*may["subscribe"], *([INBOXES] if may["publish"] else [])]
    permissions = f"publish: {_allowed(may['publish'])}, subscribe: {_allowed(listens)}"
    name, password = _quoted(client.user.name), client.user.password
    return [
        f"  {_quoted(f'client-{client.user.name}')}: {{",
        f"    users: [{{ user: {name}, password: {password},",
        f"      permissions: {{ {permissions} }} }}]",
        f"    imports: [{', '.join(imports)}]",
        "  }",
    ]


def _allowed(patterns: list[str]) -> str:
    """An empty list of what is allowed would allow everything."""
    if not patterns:
        return '{ deny: ">" }'
    return f"{{ allow: [{', '.join(_quoted(one) for one in patterns)}] }}"


def _words(verb: str) -> list[tuple[str, str]]:
    """First words of the subjects that apps have of their own, and what each asks for."""
    return [
        (subject.split(".")[0], str(need.permission))
        for (what, subject), need in TOPICS.items()
        if what == verb and need.scope is Scope.APP
    ]


def _suite(described: Mapping[str, Any], folder: Path) -> BusUser:
    _known(described, _SUITE_KEYS, "suite")
    name = described.get("user", "lockstep")
    if not isinstance(name, str):
        raise BusClientsError("is a text", where="suite.user")
    variable = described.get("password_env")
    if variable is None:
        return BusUser(name, _password(described, folder, "suite", shortest=1))
    if "password_file" in described:
        raise BusClientsError("password_file or password_env, not both", where="suite")
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        raise BusClientsError("is the name of a variable", where="suite.password_env")
    return BusUser(name, f"${variable}")


def _client(name: str, described: Mapping[str, Any], folder: Path) -> BusClient:
    where = f"clients.{name}"
    if not _NAME.fullmatch(name):
        raise BusClientsError("a name has 1 to 64 of A-Z a-z 0-9 _ -", where=where)
    _known(described, _CLIENT_KEYS, where)
    grants = frozenset(
        Grant(role, app)
        for role in (Role.SEND, Role.VIEW)
        for app in _apps(described.get(role, []), f"{where}.{role}")
    )
    if not grants:
        raise BusClientsError("neither sends nor views", where=where, hint='send = ["<app>"]')
    password = _password(described, folder, where, shortest=MIN_CHARACTERS)
    return BusClient(BusUser(name, password), grants)


def _apps(given: Any, where: str) -> list[str]:
    if not isinstance(given, list) or not all(isinstance(one, str) and one for one in given):
        raise BusClientsError('is a list of apps; ["*"]: all of them', where=where)
    return given


def _password(described: Mapping[str, Any], folder: Path, where: str, *, shortest: int) -> str:
    """Never part of an error: it says where, and not what."""
    file = described.get("password_file")
    if not isinstance(file, str):
        raise BusClientsError("names no password_file", where=where)
    try:
        text = (folder / file).read_text("utf-8-sig").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8"
        raise BusClientsError(f"{file}: {reason}", where=where) from None
    if not _BCRYPT.fullmatch(text):
        if not shortest <= len(text) <= MAX_CHARACTERS:
            said = f"a password has {shortest} to {MAX_CHARACTERS} characters"
            raise BusClientsError(f"{file}: {said}", where=where)
        if text.startswith("$2") or not text.isprintable():
            said = "is one line, and no hash but one of bcrypt"
            raise BusClientsError(f"{file}: {said}", where=where)
    return _quoted(text)


def _table(described: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = described.get(key, {})
    if not isinstance(found, dict):
        raise BusClientsError("is a table", where=key)
    return found


def _known(described: Mapping[str, Any], keys: set[str], where: str) -> None:
    if unknown := sorted(set(described) - keys):
        hint = f"there is {', '.join(sorted(keys))}"
        raise BusClientsError(f"there is no {unknown[0]!r}", where=where, hint=hint)


def _quoted(text: str) -> str:
    """As the server reads it: quoted, so that no `$` names a variable."""
    return json.dumps(text, ensure_ascii=False)
