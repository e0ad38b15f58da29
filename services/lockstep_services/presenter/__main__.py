"""`python -m lockstep_services.presenter`: one presenter process."""

import sys

from lockstep.frame import run_service
from lockstep_services.presenter.wiring import wire

if __name__ == "__main__":
    sys.exit(run_service("presenter", wire))
