"""`python -m lockstep_services.receiver`: one receiver process."""

import sys

from lockstep.frame import run_service
from lockstep_services.receiver.wiring import wire

if __name__ == "__main__":
    sys.exit(run_service("receiver", wire))
