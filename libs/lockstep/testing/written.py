"""How what a call brings stands in a test file, and how it is read from there.

    => topic out: the first line
     | each further one

What would not come back so (a carriage return, blanks at the end of a line) stands as JSON text:
`=> "topic out: a\\r\\nb"`.
"""

from __future__ import annotations

import json
import re
from typing import Final

_ARROW: Final = "=>"
_MORE: Final = "|"
_LOST: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What files of text, or their readers, change."""


def written(line: str) -> list[str]:
    """The lines of the file, without their indent. Blanks at the ends do not count."""
    line = line.strip()
    first, *more = line.split("\n")
    is_kept = all(each == each.rstrip() for each in (first, *more))
    if _LOST.search(line) or first.startswith('"') or not is_kept:
        return [f"{_ARROW} {json.dumps(line)}"]
    return [f"{_ARROW} {first}".rstrip(), *(f" {_MORE} {each}".rstrip() for each in more)]


def goes_on(text: str) -> bool:
    """Whether a line of the file goes on with what stands before it."""
    return text.startswith(_MORE)


def more_of(text: str) -> str:
    """What such a line adds."""
    return "\n" + text.removeprefix(_MORE).removeprefix(" ").rstrip()


def first_of(text: str) -> str:
    """What a line that begins an expectation says; its arrow may be missing."""
    said = text.removeprefix(_ARROW).strip()
    if len(said) > 1 and said[0] == said[-1] == '"':
        try:
            return str(json.loads(said))
        except ValueError:
            return said
    return said
