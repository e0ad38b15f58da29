"""`lockstep nats-users`: what is written for the server, what is refused, what is never said."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Lockstep

PASSWORD = 'long "and" $odd \\ one'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With files of passwords."""
    (tmp_path / "good").write_text(PASSWORD + "\n")
    (tmp_path / "short").write_text("hidden")
    (tmp_path / "lines").write_text("hidden hidden\nhidden")
    (tmp_path / "hash").write_text("$2y$hidden hidden hidden")
    return tmp_path


def test_writes_what_each_may(folder: Path, lockstep: Lockstep) -> None:
    """Names of apps are those of the bus, passwords are quoted, and nobody else reads the file."""
    (folder / "clients.toml").write_text(
        "[suite]\npassword_env = 'NATS_PASSWORD'\n"
        "[clients.a]\npassword_file = 'good'\nsend = ['Hot.1', '*']\n"
        "[clients.b]\npassword_file = 'good'\nview = ['>']\n"
    )
    done = lockstep("nats-users", folder / "clients.toml", folder / "accounts.conf")
    assert done.exit_code == 0
    assert PASSWORD not in done.stdout + done.stderr
    assert "2 clients" in done.stdout
    assert stat.S_IMODE((folder / "accounts.conf").stat().st_mode) == 0o600
    quoted = r'"long \"and\" $odd \\ one"'
    assert (folder / "accounts.conf").read_text() == (
        "# Written by `lockstep nats-users`.\n"
        "accounts {\n"
        '  "lockstep": {\n'
        "    jetstream: enabled\n"
        '    users: [{ user: "lockstep", password: $NATS_PASSWORD }]\n'
        '    exports: [{ service: "ingress.>" }, { stream: "presenter.>" }]\n'
        "  }\n"
        '  "client-a": {\n'
        f'    users: [{{ user: "a", password: {quoted},\n'
        '      permissions: { publish: { allow: ["ingress.>", "ingress.Hot%2E1.>"] },'
        ' subscribe: { allow: ["_INBOX.>"] } } }]\n'
        '    imports: [{ service: { account: "lockstep", subject: "ingress.>" } },'
        ' { service: { account: "lockstep", subject: "ingress.Hot%2E1.>" } }]\n'
        "  }\n"
        '  "client-b": {\n'
        f'    users: [{{ user: "b", password: {quoted},\n'
        '      permissions: { publish: { deny: ">" },'
        ' subscribe: { allow: ["presenter.%3E.>"] } } }]\n'
        '    imports: [{ stream: { account: "lockstep", subject: "presenter.%3E.>" } }]\n'
        "  }\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[clients.a]\npassword_file = 'short'\nsend = ['A']", "12 to 256 characters"),
        ("[clients.a]\npassword_file = 'lines'\nsend = ['A']", "is one line"),
        ("[clients.a]\npassword_file = 'hash'\nsend = ['A']", "no hash but one of bcrypt"),
        ("[clients.a]\npassword_file = 'away'\nsend = ['A']", "No such file"),
        ("[clients.a]\nsend = ['A']", "names no password_file"),
        ("[clients.a]\npassword = 'hidden'\nsend = ['A']", "there is no 'password'"),
        ("[clients.a]\npassword_file = 'good'", "neither sends nor views"),
        ("[clients.a]\npassword_file = 'good'\nsend = 'A'", "is a list of apps"),
        ("[clients.a]\npassword_file = 'good'\nview = ['']", "is a list of apps"),
        ("[clients.'a.b']\npassword_file = 'good'\nview = ['A']", "a name has"),
        ("[clients.lockstep]\npassword_file = 'good'\nview = ['A']", "the suite's own user"),
        ("[clients]\na = 1", "a: is a table"),
        ("[client.a]", "there is no 'client'"),
        ("[clients", "cannot be read"),
    ],
)
def test_refuses_what_is_wrong(folder: Path, lockstep: Lockstep, text: str, said: str) -> None:
    """Nothing is written then, and no password stands in the error."""
    (folder / "clients.toml").write_text(f"suite.password_file = 'good'\n{text}\n")
    done = lockstep("nats-users", folder / "clients.toml", folder / "accounts.conf")
    assert done.exit_code == 2
    assert said in done.stderr
    assert "hidden" not in done.stdout + done.stderr
    assert PASSWORD not in done.stdout + done.stderr
    assert not (folder / "accounts.conf").exists()


@pytest.mark.parametrize(
    "text", ["password_env = 'A B'", "password_env = 'A'\npassword_file = 'good'", "user = 1"]
)
def test_refuses_a_suite_that_is_wrong(folder: Path, lockstep: Lockstep, text: str) -> None:
    """Its own user is asked for, too."""
    (folder / "clients.toml").write_text(f"[suite]\n{text}\n")
    assert lockstep("nats-users", folder / "clients.toml", folder / "accounts.conf").exit_code == 2
