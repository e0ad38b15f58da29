"""What a trace consists of."""

from __future__ import annotations

from typing import Final

STAGES: Final = {
    "receive": "lockstep-receiver",
    "append": "lockstep-receiver",
    "fold": "lockstep-processor",
    "publish": "lockstep-processor",
    "deliver": "lockstep-publisher",
    "present": "lockstep-presenter",
}
"""The stages, and who has a span of each."""
