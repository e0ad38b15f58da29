"""What outlives processes: desired state, state revisions and sink cursors."""

from lockstep.store.contract import (
    Cursors,
    Deployment,
    Deployments,
    Removed,
    Revision,
    Revisions,
    Stale,
    Store,
    Written,
)
from lockstep.store.naming import (
    NEVER,
    Stamp,
    cursor_name,
    revision_id,
    stamp,
    stamp_of,
)
from lockstep.store.opening import open_store
from lockstep.store.rules import needed

__all__ = [
    "NEVER",
    "Cursors",
    "Deployment",
    "Deployments",
    "Removed",
    "Revision",
    "Revisions",
    "Stale",
    "Stamp",
    "Store",
    "Written",
    "cursor_name",
    "needed",
    "open_store",
    "revision_id",
    "stamp",
    "stamp_of",
]
