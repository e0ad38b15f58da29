"""What an editor knows of an app's text: problems, completion, hover, definition, renames, format.

For the console, `lockstep lsp` and `lockstep format` alike. Every function takes the text as it
stands, also when it is no valid app, and only reads it: nothing of the author's runs.
Offsets are counted in characters from 0, lines and columns from 1.
"""

from lockstep.editing.completing import Completion, complete
from lockstep.editing.formatting import formatted
from lockstep.editing.known import Known, Problem, known
from lockstep.editing.pointing import Hover, Place, definition, hover, occurrences

__all__ = [
    "Completion",
    "Hover",
    "Known",
    "Place",
    "Problem",
    "complete",
    "definition",
    "formatted",
    "hover",
    "known",
    "occurrences",
]
