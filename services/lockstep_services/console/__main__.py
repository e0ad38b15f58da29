"""`python -m lockstep_services.console`: one console process."""

import sys

from lockstep_services.console.server import run

if __name__ == "__main__":
    sys.exit(run())
