"""The folder of secrets: a file for each, as Docker and Kubernetes mount them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import quote

from lockstep.events import Fault, LockstepError

MAX_BYTES: Final = 65_536
"""Of one secret."""


class SecretError(LockstepError):
    """A secret that cannot be had here. Whoever asks may try again: its file may come."""

    fault = Fault.USER
    retryable = True


class Vault:
    """Reads `<folder>/<app>/<name>`, which is that app's alone, or `<folder>/<name>`, which is for
    every app. An app whose name is that of no folder has the latter alone. Each time anew, so that
    a file that was replaced counts. One line break at the end of a file is none of the secret."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder) if folder else None

    def value(self, app: str, name: str) -> str:
        """The secret; SecretError, in which it never stands."""
        where = f"secret {name!r}"
        if self._folder is None:
            raise SecretError(
                "there is no folder of secrets here", where=where,
                hint="secrets.folder of the settings names it; it holds a file for each secret",
            )  # fmt: skip
        # Some names of apps are names of no folder: those have what is for every app.
        may_own = "/" not in app and app not in ("", ".", "..")
        own = [self._folder / app / name] if may_own else []
        for path in (*own, self._folder / name):
            if path.is_file():
                return _read(path, where)
        alone = f", or for app {app!r} alone into {own[0]}" if own else ""
        raise SecretError(
            f"there is no file for it in {self._folder}", where=where,
            hint=f"put it into {self._folder / name}{alone}",
        )  # fmt: skip

    def stamp(self, app: str, names: Iterable[str]) -> bytes:
        """Differs when one of these secrets does, came or went."""
        found = hashlib.sha256()
        for name in sorted(set(names)):
            try:
                value = self.value(app, name).encode()
            except SecretError:
                found.update(b"\0")
            else:
                found.update(b"\1" + hashlib.sha256(value).digest())
        return found.digest()


class Hidden:
    """Texts for people without the secrets in them: a server's answer may repeat an address."""

    def __init__(self, values: Iterable[str]) -> None:
        # As it is and as an address writes it. The longest first: one may be a part of another.
        forms = {form for value in values for form in (value, quote(value), quote(value, safe=""))}
        self._values = sorted(forms - {""}, key=len, reverse=True)

    def text(self, text: str) -> str:
        """With `***` in the place of each."""
        for value in self._values:
            text = text.replace(value, "***")
        return text

    def error(self, error: LockstepError) -> None:
        """Takes them out of what an error says."""
        error.message = self.text(error.message)
        error.where = None if error.where is None else self.text(error.where)
        error.hint = None if error.hint is None else self.text(error.hint)
        error.args = (error.message, *error.args[1:])


def _read(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
        text = found.decode("utf-8")
    except OSError as error:
        hint = "the service's user must be able to read it"
        raise SecretError(f"cannot be read: {error.strerror}", where=where, hint=hint) from error
    except UnicodeDecodeError:
        raise SecretError("its file is no text in UTF-8", where=where) from None
    if len(found) > MAX_BYTES:
        raise SecretError(f"its file is larger than {MAX_BYTES} bytes", where=where)
    return text.removesuffix("\n").removesuffix("\r")
