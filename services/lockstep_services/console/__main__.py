"""`python -m lockstep_services.console`: one console process."""

import sys

from lockstep_services.console.entry import main

if __name__ == "__main__":
    sys.exit(main())
