"""What the suite reaches its own servers with is not for apps: files that addresses name, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from asyncpg import connect_utils

from lockstep.bus.kafka import address as kafka
from lockstep.bus.nats import address as nats
from lockstep.clock import VirtualClock
from lockstep.connectors.file.source import FileSource
from lockstep.frame.closing import BUS_FILES, STORE_FILES, close_own_files
from lockstep.secrets import closed, is_closed
from lockstep.settings import load_settings
from lockstep.sources import Place

NO_FILES = {"prefix", "mechanism"}
"""Parameters of a bus's address that name none."""


@pytest.fixture(autouse=True)
def nothing_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process begins."""
    monkeypatch.setattr(closed, "_closed", frozenset())


@pytest.mark.parametrize(
    ("setting", "url"),
    [
        ("BUS__URL", "nats://a:4222,nats://b:4222?credentials={}"),
        ("BUS__URL", "nats://a:4222?token_file={}"),
        ("BUS__URL", "tls://a:4222?cert=/x.pem&key={}"),
        ("BUS__URL", "tls://u:p@a:4222?cert={}&key=/x.key"),
        ("BUS__URL", "tls://a:4222?ca={}"),
        ("BUS__URL", "kafka://u@a:9092?prefix=p&password_file={}"),
        ("BUS__URL", "kafka+tls://a:9092?ca=/ca.pem&cert=/x.pem&key={}"),
        ("LEADER__URL", "rediss://:p@h:6379/0?ssl_keyfile={}&ssl_certfile=/x.pem"),
        ("LEADER__URL", "rediss://h?ssl_certfile={}"),
        ("LEADER__URL", "rediss://h?ssl_ca_certs={}#x"),
        ("STORE__POSTGRES_DSN", "postgresql://u@h/d?sslmode=verify-full&sslkey={}"),
        ("STORE__POSTGRES_DSN", "postgresql://u@h/d?sslcert={}&sslmode=require"),
        ("STORE__POSTGRES_DSN", "postgresql://u@h/d?passfile={}"),
        ("STORE__POSTGRES_DSN", "postgresql://u@h/d?passfile=/first&passfile={}#x"),
        ("STORE__POSTGRES_DSN", "postgresql://u@h/d?sslrootcert={}"),
    ],
)
def test_what_an_address_names_is_closed(tmp_path: Path, setting: str, url: str) -> None:
    """However it is written there; a source of an app does not read it, nor by a link."""
    own, beside = tmp_path / "its own", tmp_path / "beside"
    for one in (own, beside):
        one.write_text("TOP\n")
    (tmp_path / "link").symlink_to(own)
    named = str(own).replace(" ", "%20")
    close_own_files(load_settings({f"LOCKSTEP_{setting}": url.format(named)}), {})
    assert is_closed(tmp_path / "link")
    assert not is_closed(beside)
    place = Place("Spy", "S", 0, "127.0.0.1", VirtualClock())
    with pytest.raises(ValueError, match="not for apps"):
        FileSource({"file.uri": f"file:{named}"}, place)


@pytest.mark.parametrize(
    "setting", ["SERVER__TLS_CLIENT_CA_FILE", "CLIENT__TLS_CA_FILE", "OIDC__CA_FILE"]
)
def test_whom_the_suite_trusts_no_app_says(tmp_path: Path, setting: str) -> None:
    """A sink writes where the service's user may."""
    trusted = tmp_path / "ca.pem"
    settings = {f"LOCKSTEP_{setting}": str(trusted)}
    if setting.startswith("SERVER"):
        settings["LOCKSTEP_SERVER__TLS_CERTIFICATE_FILE"] = str(tmp_path / "door.pem")
    close_own_files(load_settings(settings), {})
    assert is_closed(trusted)


def test_what_postgresql_takes_by_itself_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its client looks if the address says nothing: databases that the settings name are
    reached with them as the store is."""
    monkeypatch.setenv("HOME", str(tmp_path))
    variables = {"PGPASSFILE": str(tmp_path / "pass"), "PGSSLKEY": str(tmp_path / "key")}
    taken = [tmp_path / name for name in ("pass", "key", ".pgpass", ".postgresql/postgresql.key")]
    assert not any(is_closed(one) for one in taken)
    close_own_files(load_settings({"LOCKSTEP_STORE__KIND": "memory"}), variables)
    assert all(is_closed(one) for one in taken)


def test_no_parameter_of_an_address_is_forgotten() -> None:
    """A new one of the bus, or of the store's client, has to be placed here."""
    assert (kafka._PARAMETERS | nats._PARAMETERS) - NO_FILES == BUS_FILES
    source = Path(connect_utils.__file__).read_text()
    known = set(re.findall(r"query\.pop\('(\w+)'\)", source))
    assert known >= STORE_FILES
    assert {
        one for one in known if re.fullmatch(r"ssl(cert|key|\w*crl|rootcert)|\w*file", one)
    } == (STORE_FILES)
