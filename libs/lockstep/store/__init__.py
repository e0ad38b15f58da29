"""What outlives processes: desired state, state revisions and sink cursors."""

from lockstep.store.contract import (
    Accounts,
    Audit,
    BatchEntries,
    BatchEntry,
    Cursors,
    Deployment,
    Deployments,
    Documents,
    Exclusion,
    Former,
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
from lockstep.store.rules import needed
from lockstep.store.stored import OWN_SETTINGS, StoredDeployment

__all__ = [
    "OWN_SETTINGS",
    "Accounts",
    "Audit",
    "BatchEntries",
    "BatchEntry",
    "Cursors",
    "Deployment",
    "Deployments",
    "Documents",
    "Exclusion",
    "Former",
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
    "revision_id",
]
