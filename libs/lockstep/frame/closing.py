"""Which files and folders of the suite no app may name (`lockstep.secrets.closed`)."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl

from lockstep.secrets import close_to_apps
from lockstep.settings import Settings
from lockstep.settings.load import FILE_SUFFIX, PREFIX

BUS_FILES: Final = frozenset({"credentials", "token_file", "password_file", "ca", "cert", "key"})
"""Parameters of `bus.url` that name files, of each kind of bus."""
LEADER_FILES: Final = frozenset({"ssl_keyfile", "ssl_certfile", "ssl_ca_certs"})
"""Those of `leader.url`. `ssl_ca_path` is a folder, of the machine most often, and apps may have
certificates of their own in it."""
STORE_FILES: Final = frozenset({"passfile", "sslkey", "sslcert", "sslrootcert", "sslcrl"})
"""Those of `store.postgres_dsn`."""
_POSTGRES_VARIABLES: Final = (
    "PGPASSFILE", "PGSERVICEFILE", "PGSSLKEY", "PGSSLCERT", "PGSSLROOTCERT", "PGSSLCRL",
)  # fmt: skip
_POSTGRES_OWN: Final = ("~/.pgpass", "~/.pg_service.conf", "~/.postgresql")
"""Where the client of PostgreSQL looks if neither the address nor a variable says."""


def close_own_files(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Those that the settings name: secrets, keys, datasources, what is stored and archived, and
    whatever the addresses of the suite's servers are reached with. And files of single settings,
    which hold a secret each.

    Authorities, too: an app that may write to one may say whom the suite trusts."""
    variables = os.environ if environment is None else environment
    named = [
        settings.secrets.folder,
        settings.datasources.file,
        settings.server.tls_key_file,
        settings.server.tls_certificate_file,
        settings.server.tls_client_ca_file,
        settings.client.tls_key_file,
        settings.client.tls_certificate_file,
        settings.client.tls_ca_file,
        settings.oidc.ca_file,
        str(settings.client.directory),
        str(settings.store.directory / "store"),
        "" if "://" in settings.archive.folder else settings.archive.folder,
        *_named_in(settings.bus.url.get_secret_value(), BUS_FILES),
        *_named_in(settings.leader.url.get_secret_value(), LEADER_FILES),
        *_named_in(settings.store.postgres_dsn.get_secret_value(), STORE_FILES),
        *_postgres_own(variables),  # named databases are reached with them, too
        *(
            value
            for name, value in variables.items()
            if name.startswith(PREFIX) and name.endswith(FILE_SUFFIX)
        ),
    ]
    close_to_apps(one for one in named if one)


def _postgres_own(variables: Mapping[str, str]) -> Iterator[str]:
    yield from (variables.get(name, "") for name in _POSTGRES_VARIABLES)
    yield from (os.path.expanduser(one) for one in _POSTGRES_OWN)


def _named_in(url: str, parameters: Collection[str]) -> Iterator[str]:
    """All of a parameter that comes more than once: clients differ in which one they take. And
    with what follows `#` or without: only some take it for the end."""
    for part in {url, url.partition("#")[0]}:
        yield from (
            value for name, value in parse_qsl(part.partition("?")[2]) if name in parameters
        )
