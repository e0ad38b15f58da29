"""What outlives processes: desired state, state revisions and sink cursors."""

from lockstep.store.contract import (
    NEVER,
    Cursors,
    Deployment,
    Deployments,
    Origin,
    Removed,
    Restoration,
    Revision,
    Revisions,
    Stale,
    Store,
    Written,
)
from lockstep.store.naming import cursor_name, revision_id
from lockstep.store.opening import open_store
from lockstep.store.rules import needed
from lockstep.store.stored import OWN_SETTINGS, StoredDeployment

__all__ = [
    "NEVER",
    "OWN_SETTINGS",
    "Cursors",
    "Deployment",
    "Deployments",
    "Origin",
    "Removed",
    "Restoration",
    "Revision",
    "Revisions",
    "Stale",
    "Store",
    "StoredDeployment",
    "Written",
    "cursor_name",
    "needed",
    "open_store",
    "revision_id",
]
