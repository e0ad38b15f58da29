"""`python -m lockstep_services.coordinator`: one coordinator process."""

import sys

from lockstep.frame import run_service
from lockstep_services.coordinator.wiring import wire

if __name__ == "__main__":
    sys.exit(run_service("coordinator", wire))
