"""`python -m lockstep_services.publisher`: one publisher process."""

import sys

from lockstep.frame import run_service
from lockstep_services.publisher.wiring import wire

if __name__ == "__main__":
    sys.exit(run_service("publisher", wire))
