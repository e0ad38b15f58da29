"""Named databases: how they are written, what is wrong with them, and that secrets stay secret."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import asyncpg
import pytest

from lockstep.databases import DatasourceError, datasource_for, datasource_of_url, read_datasources
from lockstep.databases.postgres.connections import Connections

TLS_ASKED: Final = (80_877_103).to_bytes(4, "big")
NOTHING: dict[str, str] = {}


def _file(path: Path, text: str) -> str:
    file = path / "datasources.toml"
    file.write_text(text)
    return str(file)


def test_a_file_names_databases_and_their_limits(tmp_path: Path) -> None:
    """Each way to give a password; options of the url stay."""
    (tmp_path / "secret").write_text("p@ss\n")
    file = _file(
        tmp_path,
        f"""
        [shop]
        url = "jdbc:postgresql://db.example:5433/shop?sslmode=require"
        username = "lock step"
        password_file = "{tmp_path}/secret"
        max_connections = 2
        [crm]
        url = "postgresql://eve:hidden@crm/people"
        """,
    )
    known = read_datasources(file)
    shop, crm = known["shop"], known["crm"]
    assert shop.dsn == "postgresql://lock%20step:p%40ss@db.example:5433/shop?sslmode=require"
    assert (shop.max_connections, shop.place) == (2, "postgresql://db.example:5433/shop")
    assert (crm.username, crm.password, crm.port) == ("eve", "hidden", 5432)
    maria = datasource_of_url("m", "jdbc:mariadb://h/d?user=u&password=p")
    assert (maria.kind, maria.port, maria.username, maria.password) == ("mysql", 3306, "u", "p")
    assert "hidden" not in f"{crm!r} {crm.place}"


def test_a_password_of_the_environment(tmp_path: Path) -> None:
    """By the name of a variable, which has to be there."""
    file = _file(tmp_path, '[a]\nurl = "postgresql://h/d"\npassword_env = "DB"')
    assert read_datasources(file, {"DB": "x"})["a"].password == "x"
    with pytest.raises(DatasourceError, match="no DB"):
        read_datasources(file, {})


def test_all_mistakes_are_told_and_no_password(tmp_path: Path) -> None:
    """Of every section, without what may be secret."""
    file = _file(
        tmp_path,
        """
        [a]
        url = "jdbc:h2:mem:x"
        [b]
        url = "postgresql://h/d"
        password = "hidden"
        password_env = "X"
        [c]
        url = "postgresql://h/d"
        pool = 3
        """,
    )
    with pytest.raises(DatasourceError) as caught:
        read_datasources(file, {})
    told = str(caught.value)
    assert [part for part in ("'h2'", "several ways", "c.pool") if part not in told] == []
    assert "hidden" not in told
    with pytest.raises(DatasourceError, match="cannot be read"):
        read_datasources(str(tmp_path / "none"))
    assert read_datasources("") == {}


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("jdbc:h2:./data", "older product"),
        ("jdbc:oracle:thin:@h:1521/x", "no driver"),
        ("postgresql:///d", "no host"),
        ("postgresql://h:x/d", "url is none"),
    ],
)
def test_urls_that_are_none(url: str, part: str) -> None:
    """The hint says what to do instead."""
    with pytest.raises(DatasourceError, match=part):
        datasource_of_url("x", url)


def test_what_an_app_means() -> None:
    """A name, a url, or nothing: the suite's own."""
    known = {"shop": datasource_of_url("shop", "postgresql://h/d")}
    assert datasource_for({"datasource": "shop"}.get, known, "postgresql://own/o").host == "h"
    assert datasource_for(NOTHING.get, known, "postgresql://own/o").host == "own"
    url = {"jdbc.url": "jdbc:postgresql://x/y", "username": "u", "password": "p"}
    assert datasource_for(url.get, known, "postgresql://own/o").dsn == "postgresql://u:p@x:5432/y"
    with pytest.raises(DatasourceError, match="names: shop"):
        datasource_for({"datasource": "none"}.get, known, "postgresql://own/o")


@pytest.mark.parametrize("option", ["sslkey", "sslcert", "passfile"])
def test_a_key_of_a_named_database_is_not_for_apps(tmp_path: Path, option: str) -> None:
    """An app that names it in a url of its own could say that it is the suite."""
    key = tmp_path / "key"
    key.write_text("k")
    url = f"postgresql://h/d?{option}={key}"
    own = {"jdbc.url": url}
    assert datasource_for(own.get, {}, "postgresql://own/o").host == "h"
    read_datasources(_file(tmp_path, f'[shop]\nurl = "{url}"'))
    with pytest.raises(DatasourceError, match="is not for apps"):
        datasource_for(own.get, {}, "postgresql://own/o")


def test_an_empty_file_is_no_password(tmp_path: Path) -> None:
    """It is being written, most likely: the server would be asked to let nobody in."""
    (tmp_path / "secret").write_text("\n")
    given = f'password_file = "{tmp_path}/secret"'
    with pytest.raises(DatasourceError, match="secret is empty"):
        read_datasources(_file(tmp_path, f'[shop]\nurl = "postgresql://h/d"\n{given}'))


async def test_a_server_that_an_app_names_is_shown_no_password_of_the_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database's client would take one out of its environment or of a file by itself."""
    shown: list[bytes] = []

    async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        first = await reader.readexactly(size - 4)
        if first == TLS_ASKED:
            writer.write(b"N")
            size = int.from_bytes(await reader.readexactly(4), "big")
            await reader.readexactly(size - 4)
        writer.write(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))  # in clear text
        shown.append(await reader.read(1_000))
        writer.close()

    server = await asyncio.start_server(ask, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    (tmp_path / "pass").write_text(f"127.0.0.1:{port}:*:u:of-the-file\n")
    (tmp_path / "pass").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    own = {"jdbc.url": f"postgresql://127.0.0.1:{port}/d", "username": "u"}
    for variable in ("", "of-the-environment"):
        if variable:
            monkeypatch.setenv("PGPASSWORD", variable)
        datasource = datasource_for(own.get, {}, "postgresql://own/o")
        made = Connections(datasource.dsn, max_connections=1, statement_timeout_ms=1_000)
        with pytest.raises((OSError, asyncpg.PostgresError, asyncpg.InterfaceError)):
            await (await made.pool()).acquire()
        await made.close()
    server.close()
    assert shown
    assert not [one for one in shown if b"of-the" in one]


def test_a_service_of_the_machine_is_not_for_apps() -> None:
    """Its file has passwords."""
    with pytest.raises(DatasourceError, match="a service of the machine"):
        datasource_for({"jdbc.url": "postgresql://h/d?service=x"}.get, {}, "postgresql://own/o")
