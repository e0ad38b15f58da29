"""Runs in the child, before the server: ties its life to the parent's and gives up root.

A script of its own (started as `python -I -S launch.py …`) and not a hook between fork and exec,
because the parent may have threads. Imports the standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import struct
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_KEEPCAPS = 8
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_RAISE = 2
_CAP_DAC_OVERRIDE = 1
_CAPABILITY_VERSION_3 = 0x20080522


def main() -> None:
    """Prepares this process as the arguments say and becomes the command after `--`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--death-signal", type=int, required=True)
    parser.add_argument("--account", help="uid:gid to become")
    parser.add_argument("--reach", action="append", default=[], help="path the account must reach")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if arguments.account is not None:
        uid, gid = (int(part) for part in arguments.account.split(":"))
        become(uid, gid, arguments.reach)
    # After the change of account, which would clear it.
    die_with_parent(arguments.parent, arguments.death_signal)
    os.execv(arguments.command[0], arguments.command)


def die_with_parent(parent: int, death_signal: int) -> None:
    """Asks Linux for `death_signal` when the parent dies; elsewhere nothing."""
    if not sys.platform.startswith("linux"):
        return
    _prctl(_PR_SET_PDEATHSIG, death_signal)
    if os.getppid() != parent:  # it died in the meantime
        sys.exit(1)


def become(uid: int, gid: int, reach: list[str]) -> None:
    """Gives up root for `uid`.

    Where the account cannot get at one of the paths in `reach` (a clone or a data folder below a
    private directory), one capability is kept, the one that ignores file permissions; nothing on
    disk is opened up for others.
    """
    linux = sys.platform.startswith("linux")
    if linux:
        _prctl(_PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if not linux:
        return
    needed = not all(os.access(path, os.R_OK | os.X_OK) for path in reach)
    with contextlib.suppress(OSError):  # a root without this capability: go on without
        _set_capabilities(1 << _CAP_DAC_OVERRIDE if needed else 0)
        if needed:
            _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE)


def _prctl(option: int, first: int = 0, second: int = 0) -> None:
    if _libc().prctl(option, *(ctypes.c_ulong(value) for value in (first, second, 0, 0))) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def _set_capabilities(mask: int) -> None:
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    data = struct.pack("=6I", mask, mask, mask, 0, 0, 0)
    if _libc().capset(header, data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


if __name__ == "__main__":
    main()
