"""What had to be done again, as the logs of all processes tell: records that came damaged from the
bus, and rows that the archive had already when they were brought."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

OWN_LOG = "chaos.log"
DAMAGED, WHOLE = "a record came damaged", "a damaged record came whole"
BEFORE = "archived before"
_TOLD_ABOUT = ("log", "sequence", "size_bytes", "differs_from_byte", "differing_bytes", "server")


def repetitions(directory: Path) -> list[str]:
    """Lines for the end of a run whose files are there. Blocking."""
    found = list(_told([*sorted((directory / "logs").glob("*.log")), directory / OWN_LOG]))
    damaged = [one for one in found if one["message"] == DAMAGED]
    whole = [one for one in found if one["message"] == WHOLE]
    before = [one for one in found if one["message"] == BEFORE]
    lines = [
        f"records that came damaged {len(damaged)}, then whole {len(whole)}; "
        f"archive appends repeated {len(before)}, of {sum(one['rows'] for one in before)} rows"
    ]
    for one in [*damaged, *whole]:
        about = " ".join(f"{name}={one[name]}" for name in _TOLD_ABOUT if name in one)
        lines.append(f"{one['message']}: node={one.get('node', 'chaos')} {about}")
    return lines


def _told(logs: Iterable[Path]) -> Iterator[dict[str, Any]]:
    words = (DAMAGED, WHOLE, BEFORE)
    for log in logs:
        if not log.exists():
            continue
        for line in log.read_text(errors="replace").splitlines():
            if not any(word in line for word in words) or not line.startswith("{"):
                continue
            said = json.loads(line)
            if said.get("message") in words:
                yield said
