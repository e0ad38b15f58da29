"""What outlives processes: desired state, state revisions and sink cursors."""

from lockstep.store.contract import (
    Cursors,
    Deployment,
    Deployments,
    Revision,
    Revisions,
    Stale,
    Store,
    Written,
)
from lockstep.store.opening import open_store
from lockstep.store.rules import needed

__all__ = [
    "Cursors",
    "Deployment",
    "Deployments",
    "Revision",
    "Revisions",
    "Stale",
    "Store",
    "Written",
    "needed",
    "open_store",
]
