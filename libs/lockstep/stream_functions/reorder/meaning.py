"""What puts events in order."""

from __future__ import annotations

from lockstep.stream_functions.call import StreamFunctionFactory
from lockstep.stream_functions.reorder.adaptive import AdaptiveKSlack
from lockstep.stream_functions.reorder.fixed import KSlack

STREAM_FUNCTIONS: dict[tuple[str, str], StreamFunctionFactory] = {
    ("reorder", "kslack"): KSlack,
    ("reorder", "akslack"): AdaptiveKSlack,
}
