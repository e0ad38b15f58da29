"""One console process, or what it lacks."""

import sys
from pkgutil import resolve_name
from typing import Final

from lockstep.cli.processes import has_console
from lockstep.events.packages import to_install

EXIT_MISSING: Final = 2


def main() -> int:
    """Its exit code. What its pages are made of is an extra, so its server is loaded behind."""
    if has_console():
        return int(resolve_name("lockstep_services.console.server:run")())
    sys.stderr.write(f"the packages of the console are not installed: {to_install('console')}\n")
    return EXIT_MISSING
