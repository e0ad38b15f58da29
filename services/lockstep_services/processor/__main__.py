"""`python -m lockstep_services.processor`: one processor process."""

import sys

from lockstep.frame import run_service
from lockstep_services.processor.wiring import wire

if __name__ == "__main__":
    sys.exit(run_service("processor", wire))
