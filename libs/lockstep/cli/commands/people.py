"""users, groups, grant, revoke, tokens, login, logout: who may do what."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from lockstep.cli.addresses import forget_session, keep_session, kept_session
from lockstep.cli.caller import Caller
from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AsJson, Connection
from lockstep.cli.openid import SignInError, signed_in, signed_out
from lockstep.cli.output import Exit, console, fail, print_json, show
from lockstep.clock import SystemClock

DAY_MS: Final = 86_400_000
User = Annotated[str, typer.Argument(help="Name of the user.")]
Group = Annotated[str, typer.Argument(help="Name of the group.")]
RoleName = Annotated[
    str, typer.Argument(help="view, send, operate, deploy, code or administer.", metavar="ROLE")
]
OnApp = Annotated[str | None, typer.Option("--app", help="On this app; everywhere without it.")]
PasswordFile = Annotated[
    Path | None, typer.Option(allow_dash=True, help="It is in there; `-`: on standard input.")
]
users = typer.Typer(
    no_args_is_help=True, help="List users, add and remove them, give them passwords."
)
groups = typer.Typer(
    no_args_is_help=True, help="List groups, add and remove them, and put users into them."
)
tokens = typer.Typer(
    no_args_is_help=True, help="List the tokens of services, create one, revoke one."
)


@users.command("list")
def list_users(context: typer.Context, as_json: AsJson = False) -> None:
    """List the users and what each was granted."""
    with asking(context) as suite:
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/users")["users"]
    rows = found if as_json else [{**one, "grants": _said(one)} for one in found]
    show(
        rows, ("user", "grants", "groups", "has_password", "active"), as_json=as_json, title="users"
    )


@users.command("add")
def add_user(
    context: typer.Context,
    user: User,
    role: Annotated[str | None, typer.Option(help="Everywhere; more: `lockstep grant`.")] = None,
    password_file: PasswordFile = None,
    as_json: AsJson = False,
) -> None:
    """Add a user. Without a password file it prints a one-time link with which they choose one."""
    body = {"role": role} if role else {}
    if password_file is not None:
        body["password"] = _read(password_file)
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/users/{quote(user, safe='')}"
        answer = suite.request("PUT", url, json_body=body)
    _tell_user(answer, as_json=as_json)


@users.command("remove")
def remove_user(context: typer.Context, user: User) -> None:
    """Remove a user, who is out within seconds."""
    with asking(context) as suite:
        suite.request("DELETE", f"{suite.addresses.coordinator}/v1/users/{quote(user, safe='')}")
    console.print(f"removed {user}", markup=False)


@users.command("passwd")
def passwd(
    context: typer.Context,
    user: User,
    invite: Annotated[
        bool, typer.Option("--invite", help="Print a one-time link instead: they choose it.")
    ] = False,
    password_file: PasswordFile = None,
    as_json: AsJson = False,
) -> None:
    """Give a user another password, which ends their sessions."""
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/users/{quote(user, safe='')}"
        if invite:
            answer = suite.request("POST", f"{url}/invitation")
        else:
            known = suite.request("GET", f"{suite.addresses.coordinator}/v1/users")["users"]
            if user not in {one["user"] for one in known}:
                raise typer.BadParameter(f"there is no user '{user}'")
            given = _asked(confirmed=True) if password_file is None else _read(password_file)
            answer = suite.request("PUT", url, json_body={"password": given})
    _tell_user(answer, as_json=as_json)


@groups.command("list")
def list_groups(context: typer.Context, as_json: AsJson = False) -> None:
    """List the groups, their members and what each was granted."""
    with asking(context) as suite:
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/groups")["groups"]
    rows = found if as_json else [{**one, "grants": _said(one)} for one in found]
    show(rows, ("group", "grants", "members"), as_json=as_json, title="groups")


@groups.command("add")
def add_group(context: typer.Context, group: Group) -> None:
    """Add a group."""
    _group(context, "PUT", quote(group, safe=""))
    console.print(f"added {group}", markup=False)


@groups.command("remove")
def remove_group(context: typer.Context, group: Group) -> None:
    """Remove a group; its members lose what it was granted."""
    _group(context, "DELETE", quote(group, safe=""))
    console.print(f"removed {group}", markup=False)


@groups.command("join")
def join_group(context: typer.Context, group: Group, user: User) -> None:
    """Put a user into a group."""
    _group(context, "PUT", f"{quote(group, safe='')}/members/{quote(user, safe='')}")
    console.print(f"{user} is in {group}", markup=False)


@groups.command("leave")
def leave_group(context: typer.Context, group: Group, user: User) -> None:
    """Take a user out of a group."""
    _group(context, "DELETE", f"{quote(group, safe='')}/members/{quote(user, safe='')}")
    console.print(f"{user} is not in {group}", markup=False)


def grant(
    context: typer.Context,
    role: RoleName,
    user: Annotated[str | None, typer.Option(help="To this user.")] = None,
    group: Annotated[str | None, typer.Option(help="To this group.")] = None,
    app: OnApp = None,
) -> None:
    """Give a role to a user or a group, on one app or everywhere."""
    _grants(context, "POST", role, user, group, app)


def revoke(
    context: typer.Context,
    role: RoleName,
    user: Annotated[str | None, typer.Option(help="From this user.")] = None,
    group: Annotated[str | None, typer.Option(help="From this group.")] = None,
    app: OnApp = None,
) -> None:
    """Take a role back from a user or a group."""
    _grants(context, "DELETE", role, user, group, app)


@tokens.command("list")
def list_tokens(context: typer.Context, as_json: AsJson = False) -> None:
    """List the tokens: what each is for and may, and until when."""
    with asking(context) as suite:
        found = suite.request("GET", f"{suite.addresses.coordinator}/v1/tokens")["tokens"]
    rows = found
    if not as_json:
        rows = [{**one, "grants": _said(one), "expires": _at(one["expires_ms"])} for one in found]
    show(rows, ("id", "name", "kind", "grants", "expires"), as_json=as_json, title="tokens")


@tokens.command("create")
def create_token(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    role: Annotated[list[str], typer.Option(help="What it may; again for more.")],
    app: Annotated[
        list[str] | None, typer.Option(help="On this app; again for more; everywhere without it.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="So long it is good.")] = 90,
    as_json: AsJson = False,
) -> None:
    """Create a token for a service. It is shown this once."""
    grants = [{"role": one, "app": on} for one in role for on in (app or ["*"])]
    body = {"name": name, "grants": grants, "expires_in_ms": days * DAY_MS}
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/tokens"
        answer = suite.request("POST", url, json_body=body)
    if as_json:
        print_json(answer)
        return
    console.print(answer["token"], markup=False, soft_wrap=True)
    said = f"{answer['id']}: good until {_at(answer['expires_ms'])}; it is not shown again"
    typer.echo(said, err=True)


@tokens.command("revoke")
def revoke_token(
    context: typer.Context,
    token: Annotated[str, typer.Argument(help="Its id, as `lockstep tokens list` says.")],
) -> None:
    """Revoke a token, which is refused within seconds."""
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/tokens/{quote(token, safe='')}"
        suite.request("DELETE", url)
    console.print(f"revoked {token}", markup=False)


def audit(
    context: typer.Context,
    app: Annotated[str | None, typer.Option(help="On this app alone.")] = None,
    who: Annotated[str | None, typer.Option(help="As it is listed, such as `user ann`.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="So many entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show who did what, and what was refused, the newest first."""
    given = {"app": app, "who": who, "limit": str(limit)}
    params = {name: value for name, value in given.items() if value is not None}
    with asking(context) as suite:
        url = f"{suite.addresses.coordinator}/v1/audit"
        found = suite.request("GET", url, params=params)["entries"]
    rows = found if as_json else [{**one, "at": _at(one["at_ms"])} for one in found]
    show(rows, ("at", "who", "method", "path", "status", "address", "node"), as_json=as_json,
         title="audit log")  # fmt: skip


def login(
    context: typer.Context,
    user: Annotated[
        str | None, typer.Argument(help="A user of Lockstep; without: sign in at the provider.")
    ] = None,
    password_file: PasswordFile = None,
    provider_ca: Annotated[
        str, typer.Option(envvar="LOCKSTEP_OIDC__CA_FILE", help="Authorities of the provider.")
    ] = "",
) -> None:
    """Log in, without a name at the OpenID Connect provider: later commands are that user's."""
    if user is None:
        return _sign_in(context, provider_ca)
    connection: Connection = context.obj
    password = _asked(confirmed=False) if password_file is None else _read(password_file)
    with asking(context, refreshes=False) as suite:
        url = suite.addresses.coordinator
        body = {"user": user, "password": password}
        answer = suite.request("POST", f"{url}/v1/login", json_body=body)
        keep_session(connection.directory, url, {"token": answer["token"]})
    console.print(f"logged in as {user} until {_at(answer['expires_ms'])}", markup=False)
    return None


def _sign_in(context: typer.Context, authority: str) -> None:
    connection: Connection = context.obj
    with asking(context, refreshes=False) as suite:
        url = suite.addresses.coordinator
        offered = suite.request("GET", f"{url}/v1/login")["openid"]
        if offered is None:
            raise SignInError(
                "this suite knows no OpenID Connect provider for commands",
                hint="lockstep login <user>; or oidc.issuer and oidc.client_id at the coordinators",
            )
        session = signed_in(offered, authority and str(Path(authority).absolute()), SystemClock(),
                            _tell_where)  # fmt: skip
        mine = Caller(replace(suite.addresses, token=session["token"]))
        name = mine.request("GET", f"{url}/v1/me")["name"]
        keep_session(connection.directory, url, session)
    console.print(f"logged in as {name}", markup=False)


def _tell_where(address: str, code: str) -> None:
    console.print(f"Open {address}\nand enter the code {code}", markup=False, soft_wrap=True)


def logout(context: typer.Context) -> None:
    """Log out: the session ends everywhere."""
    connection: Connection = context.obj
    with asking(context, refreshes=False) as suite:
        session = kept_session(connection.directory, suite.addresses.coordinator)
        if connection.token is None and session is not None and "token_endpoint" in session:
            forget_session(connection.directory)
            signed_out(session)
        else:
            suite.request("POST", f"{suite.addresses.coordinator}/v1/logout")
            forget_session(connection.directory)
    console.print("logged out")


def _group(context: typer.Context, method: str, path: str) -> None:
    with asking(context) as suite:
        suite.request(method, f"{suite.addresses.coordinator}/v1/groups/{path}")


def _grants(
    context: typer.Context,
    method: str,
    role: str,
    user: str | None,
    group: str | None,
    app: str | None,
) -> None:
    given = {"role": role, "user": user, "group": group, "app": app}
    body = {name: value for name, value in given.items() if value is not None}
    with asking(context) as suite:
        suite.request(method, f"{suite.addresses.coordinator}/v1/grants", json_body=body)
    word = "has" if method == "POST" else "has no longer"
    where = "everywhere" if app is None else f"on {app}"
    console.print(f"{user or group} {word} {role} {where}", markup=False)


def _tell_user(answer: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    console.print(f"{'added' if answer.get('created') else 'changed'} {answer['user']}")
    if "invitation" in answer:
        console.print(
            "they choose a password at the console's page\n"
            f"  /invitation#{answer['invitation']}\n"
            f"once, until {_at(answer['expires_ms'])}; it is not shown again",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _said(one: Mapping[str, Any]) -> list[str]:
    return [
        grant["role"] if grant["app"] == "*" else f"{grant['role']} on {grant['app']}"
        for grant in one["grants"]
    ]


def _at(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _asked(*, confirmed: bool) -> str:
    """Never an argument: those stand in lists of processes."""
    found: str = typer.prompt("Password", hide_input=True, confirmation_prompt=confirmed, err=True)
    return found


def _read(path: Path) -> str:
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        fail(f"{path} is no text in UTF-8", Exit.USAGE)
    return text.rstrip("\r\n")
