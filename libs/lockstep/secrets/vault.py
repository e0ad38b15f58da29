"""The folder of secrets: a file for each, as Docker and Kubernetes mount them."""

from __future__ import annotations

import errno
import hashlib
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from lockstep.events import Fault, LockstepError

MAX_BYTES: Final = 65_536
"""Of one secret."""

_NOT_THERE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})
"""What says that there can be no such file. All else says that nobody knows what stands there."""


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
            if _is_there(path, where):
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


def _is_there(path: Path, where: str) -> bool:
    """Whether there is a file. SecretError where nobody can tell, as in a folder that is closed to
    the service: the secret of every app must not be taken for an app's own."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise _unreadable(error, where) from error
    except ValueError:
        return False  # no file has such a name


def _read(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            found = file.read(MAX_BYTES + 1)
        text = found.decode("utf-8")
    except OSError as error:
        raise _unreadable(error, where) from error
    except UnicodeDecodeError:
        raise SecretError("its file is no text in UTF-8", where=where) from None
    if len(found) > MAX_BYTES:
        raise SecretError(f"its file is larger than {MAX_BYTES} bytes", where=where)
    return text.removesuffix("\n").removesuffix("\r")


def _unreadable(error: OSError, where: str) -> SecretError:
    hint = "the service's user must be able to read it"
    return SecretError(f"cannot be read: {error.strerror}", where=where, hint=hint)
