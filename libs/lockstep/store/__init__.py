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

__all__ = [
    "Cursors",
    "Deployment",
    "Deployments",
    "Revision",
    "Revisions",
    "Stale",
    "Store",
    "Written",
    "open_store",
]
