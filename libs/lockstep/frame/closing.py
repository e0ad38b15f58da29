"""Which files and folders of the suite no app may name (`lockstep.secrets.closed`)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from lockstep.secrets import close_to_apps
from lockstep.settings import Settings
from lockstep.settings.load import FILE_SUFFIX, PREFIX


def close_own_files(settings: Settings, environment: Mapping[str, str] | None = None) -> None:
    """Those that the settings name: secrets, keys, datasources, what is stored and archived. And
    files of single settings, which hold a secret each."""
    variables = os.environ if environment is None else environment
    named = [
        settings.secrets.folder,
        settings.datasources.file,
        settings.server.tls_key_file,
        settings.server.tls_certificate_file,
        settings.client.tls_key_file,
        settings.client.tls_certificate_file,
        str(settings.client.directory),
        str(settings.store.directory / "store"),
        "" if "://" in settings.archive.folder else settings.archive.folder,
        *(
            value
            for name, value in variables.items()
            if name.startswith(PREFIX) and name.endswith(FILE_SUFFIX)
        ),
    ]
    close_to_apps(one for one in named if one)
