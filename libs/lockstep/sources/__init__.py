"""Sources of your own: what a source hands to the receiver, and what the receiver asks of it.

A type of source is declared to the checker (`EXTENSIONS`, kind SOURCE, with its options) and made
by what stands under its name in `SOURCES` of the same module; see EXTENDING.md.
"""

from lockstep.sources.contract import Place, Received, Source, SourceMaker
from lockstep.sources.held import Held
from lockstep.sources.inbox import Inbox
from lockstep.sources.listening import Listening
from lockstep.sources.notes import Note, PassingNote
from lockstep.sources.turns import Turns

__all__ = [
    "Held",
    "Inbox",
    "Listening",
    "Note",
    "PassingNote",
    "Place",
    "Received",
    "Source",
    "SourceMaker",
    "Turns",
]
