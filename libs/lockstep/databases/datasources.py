"""Named databases: a file of the settings tells where each is and how to get in."""

from __future__ import annotations

import os
import ssl
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from lockstep.events import Fault, LockstepError
from lockstep.secrets.closed import HINT, close_to_apps, is_named_closed, refuse_closed
from lockstep.tls import TlsFiles, calling

KINDS: Final = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "mysql": "mysql",
    "mariadb": "mysql",
    "sqlite": "sqlite",
}
PORTS: Final = {"postgresql": 5432, "mysql": 3306}
_NO_DRIVER: Final = "no driver for it is part of Lockstep: PostgreSQL, MySQL, MariaDB, SQLite"
_A_FILE: Final = "jdbc:sqlite:/path/of/the/file.db"
NOT_HERE: Final = {
    "h2": "H2 lives inside of the older product's Java process: move its tables to PostgreSQL",
    "oracle": _NO_DRIVER,
    "sqlserver": _NO_DRIVER,
    "db2": _NO_DRIVER,
}

_OWN_FILES: Final = ("sslcert", "sslkey", "passfile")
"""Options of a url whose files say who is calling. Whom the suite trusts an app may trust, too."""


_NO_PASSWORD: Final = " "
"""To a server that an app names, without a password: asyncpg would look for one in PGPASSWORD and
.pgpass, which are the suite's, and a url cannot say that there is none."""


class DatasourceError(LockstepError):
    """A datasource that nobody named, or one that is named wrongly."""

    fault = Fault.USER


class _Entry(BaseModel):
    """A section of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str
    username: str = ""
    password: SecretStr = SecretStr("")
    password_file: Path | None = None
    password_env: str = ""
    max_connections: Annotated[int, Field(ge=1, le=1_000)] = 4
    statement_timeout_ms: Annotated[int, Field(ge=1)] = 10_000
    app_changes: bool = False


@dataclass(frozen=True, slots=True)
class Datasource:
    """A database and how to get in. Its text never holds the password. `app_changes`: apps may make
    changes there by statements of their own. Of SQLite `database` is the path of a file, and there
    is no host. Of MongoDB `uri` says all of it. `is_apps`: an app says where it is, so a file of
    the suite is not opened."""

    name: str
    kind: str
    host: str
    port: int
    database: str
    username: str
    password: str = field(repr=False)
    options: str = ""
    max_connections: int = 4
    statement_timeout_ms: int = 10_000
    app_changes: bool = False
    uri: str = field(default="", repr=False)
    is_apps: bool = False

    @property
    def dsn(self) -> str:
        """One text for all of it, as PostgreSQL's clients take it; a secret."""
        if self.kind == "sqlite":
            return self.place
        if self.uri:
            return self.uri
        login = quote(self.username, safe="")
        if self.password:
            login += ":" + quote(self.password, safe="")
        at = f"{login}@" if login else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        options = f"?{self.options}" if self.options else ""
        return f"{self.kind}://{at}{host}:{self.port}/{quote(self.database, safe='')}{options}"

    @property
    def wants_tls(self) -> bool:
        """Of MySQL: whether it is spoken to over TLS alone."""
        return "sslmode=verify-full" in self.options.split("&")

    @property
    def tls(self) -> ssl.SSLContext | None:
        """For MySQL; PostgreSQL's client reads the same options out of `dsn`."""
        given = dict(parse_qsl(self.options))
        files = (given.get(name, "") for name in ("sslrootcert", "sslcert", "sslkey"))
        if not self.wants_tls:
            return None
        return calling(TlsFiles(*files)) or ssl.create_default_context()

    @property
    def place(self) -> str:
        """For people."""
        if self.kind == "sqlite":
            return f"sqlite://{quote(self.database)}"
        return f"{self.kind}://{self.host}:{self.port}/{self.database}"


Datasources = Mapping[str, Datasource]


def datasource_of_url(
    name: str,
    url: str,
    username: str = "",
    password: str = "",
    *,
    app_changes: bool = False,
    **limits: int,
) -> Datasource:
    """Of `postgresql://host:port/database`, `mysql://…` or `sqlite:///path`, with or without
    `jdbc:` in front; of SQLite also `sqlite:/path`."""
    parts = urlsplit(url.removeprefix("jdbc:"))
    kind = KINDS.get(parts.scheme)
    if kind == "sqlite":
        path = _file_of(name, url, is_open=not (username or password))
        return Datasource(
            name,
            kind,
            "",
            0,
            path,
            "",
            "",
            "",
            app_changes=app_changes,
            uri="",
            is_apps=False,
            **limits,
        )
    if kind is None:
        hint = NOT_HERE.get(parts.scheme, "postgresql://host:port/database")
        raise DatasourceError(f"its url begins with {parts.scheme!r}", where=name, hint=hint)
    given = dict(parse_qsl(parts.query))
    login = given.pop("user", ""), given.pop("password", "")
    database = unquote(parts.path.strip("/"))
    if kind == "mysql":
        _check_mysql(name, given)
    try:
        port = parts.port or PORTS[kind]
    except ValueError as error:
        raise DatasourceError(f"its url is none: {error}", where=name) from error
    if not parts.hostname or not database:
        raise DatasourceError(
            "its url names no host or no database", where=name, hint=f"{kind}://host:port/database"
        )
    return Datasource(
        name,
        kind,
        parts.hostname,
        port,
        database,
        username or unquote(parts.username or "") or login[0],
        password or unquote(parts.password or "") or login[1],
        urlencode(given),
        app_changes=app_changes,
        uri="",
        is_apps=False,
        **limits,
    )


def _file_of(name: str, url: str, *, is_open: bool) -> str:
    """The path that a url of SQLite names. Only a whole one says the same to every service."""
    given = url.removeprefix("jdbc:").removeprefix("sqlite:")
    path = unquote(given.removeprefix("//")) if given.startswith("//") else given
    wrong = (
        (not path.startswith("/") or path.endswith("/"), "its url names no file by a whole path"),
        ("?" in given, "its url has options, and SQLite takes none here"),
        ("\0" in path, "its path holds a zero"),
        (not is_open, "a file has no username and no password"),
    )
    for is_wrong, why in wrong:
        if is_wrong:
            raise DatasourceError(why, where=name, hint=_A_FILE)
    return path


def redis_at(host: str, port: int, password: str) -> Datasource:
    """The Redis that a store names."""
    return Datasource("redis", "redis", host, port, "0", "", password)


def mongodb_at(uri: str, database: str) -> Datasource:
    """The MongoDB that a store names."""
    hosts = urlsplit(uri).netloc.rpartition("@")[2]
    return Datasource("mongodb", "mongodb", hosts, 0, database, "", "", uri=uri)


def _check_mysql(name: str, given: dict[str, str]) -> None:
    """Half a wish for TLS is refused: who writes it means to be safe."""
    for name_, value in (("useSSL", "false"), ("requireSSL", "false"), ("sslMode", "DISABLED")):
        if given.get(name_, "").upper() == value.upper():
            del given[name_]  # no wish for TLS, as the older drivers say it
    mode = given.get("sslmode")
    older = sorted({"useSSL", "requireSSL", "sslMode", "verifyServerCertificate"} & given.keys())
    if older or mode not in (None, "disable", "verify-full"):
        raise DatasourceError(
            f"its url says {older[0] if older else f'sslmode={mode}'}", where=name,
            hint="sslmode=verify-full, with sslrootcert, sslcert, sslkey; or sslmode=disable",
        )  # fmt: skip


def read_datasources(file: str, environment: Mapping[str, str] | None = None) -> Datasources:
    """Those of a TOML file, a section each; none without a file. All mistakes are told at once.
    Files of passwords, and keys that the urls name, are closed to apps from now on.

    DatasourceError never holds a password.
    """
    if not file:
        return {}
    path = Path(file)
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise DatasourceError(f"cannot be read: {error.strerror}", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DatasourceError(f"is not TOML: {error}", where=str(path)) from error
    variables = os.environ if environment is None else environment
    found: dict[str, Datasource] = {}
    mistakes: list[str] = []
    for name, section in read.items():
        try:
            found[name] = _datasource(name, section, variables)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                key = ".".join(str(part) for part in (name, *detail["loc"]))
                mistakes.append(f"{key}: {detail['msg']}")
        except DatasourceError as error:
            mistakes.append(str(error))
    if mistakes:
        raise DatasourceError("; ".join(mistakes), where=str(path))
    return found


def datasource_for(
    option: Callable[[str], str | None], known: Datasources, default_dsn: str
) -> Datasource:
    """The database that the options `datasource`, `jdbc.url`, `username` and `password` of an app
    mean; the suite's own where there are none. DatasourceError."""
    name, url = option("datasource"), option("jdbc.url")
    if name is None:
        login = option("username") or "", option("password") or ""
        found = datasource_of_url("jdbc.url" if url else "store", url or default_dsn, *login)
        if found.kind == "sqlite" and is_named_closed(found.database):
            raise DatasourceError(f"{found.database} is not for apps", where=found.name, hint=HINT)
        if url:
            found = _without_own_login(found)
        return replace(found, is_apps=True)
    if name not in known:
        raise DatasourceError(
            f"there is no datasource {name!r}",
            hint=f"datasources.file of the settings names: {', '.join(known) or 'none'}",
        )
    return known[name]


def _without_own_login(datasource: Datasource) -> Datasource:
    """DatasourceError for a key or a password of the suite, whose server the app says. Asks the
    file system, as the database's client does when it opens the file; where no file is named,
    nothing is asked."""
    given = dict(parse_qsl(datasource.options))
    try:
        refuse_closed(*(given.get(name, "") for name in _OWN_FILES))
    except OSError as error:
        raise DatasourceError(str(error), where=datasource.name) from error
    if "service" in given:
        raise DatasourceError(
            "its url names a service of the machine", where=datasource.name,
            hint="write host, database, user and password, or name a datasource",
        )  # fmt: skip
    if datasource.kind == "postgresql" and not datasource.password and "passfile" not in given:
        return replace(datasource, password=_NO_PASSWORD)
    return datasource


def _datasource(name: str, section: Any, variables: Mapping[str, str]) -> Datasource:
    entry = _Entry.model_validate(section)
    found = datasource_of_url(
        name,
        entry.url,
        entry.username,
        _password(name, entry, variables),
        max_connections=entry.max_connections,
        statement_timeout_ms=entry.statement_timeout_ms,
        app_changes=entry.app_changes,
    )
    given = dict(parse_qsl(found.options))
    close_to_apps(given[each] for each in _OWN_FILES if given.get(each))
    return found


def _password(name: str, entry: _Entry, variables: Mapping[str, str]) -> str:
    given = entry.password.get_secret_value()
    ways = [bool(given), entry.password_file is not None, bool(entry.password_env)]
    if sum(ways) > 1:
        raise DatasourceError(
            "its password is given in several ways",
            where=name,
            hint="one of password_file, password_env, password",
        )
    if entry.password_file is not None:
        close_to_apps((entry.password_file,))
        try:
            read = entry.password_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise DatasourceError(
                f"{entry.password_file} cannot be read", where=name, hint="name a readable file"
            ) from error
        if not read:  # it is being written: without a password, it would be refused each time
            raise DatasourceError(
                f"{entry.password_file} is empty", where=name,
                hint="write the password, or leave password_file out",
            )  # fmt: skip
        return read
    if entry.password_env:
        if entry.password_env not in variables:
            raise DatasourceError(
                f"the environment has no {entry.password_env}", where=name, hint="set it"
            )
        return variables[entry.password_env]
    return given
