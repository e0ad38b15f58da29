"""Who may do what: callers, roles, what each door asks for, and the one decision over them."""

from lockstep.rights.decision import ForbiddenError, StrangerError, check, refusal
from lockstep.rights.model import (
    EVERYWHERE,
    PERMISSIONS,
    Grant,
    Kind,
    Permission,
    Principal,
    Role,
    administrator,
)
from lockstep.rights.needs import Need, Scope
from lockstep.rights.table import COMMANDS, ROUTES, TOPICS

__all__ = [
    "COMMANDS",
    "EVERYWHERE",
    "PERMISSIONS",
    "ROUTES",
    "TOPICS",
    "ForbiddenError",
    "Grant",
    "Kind",
    "Need",
    "Permission",
    "Principal",
    "Role",
    "Scope",
    "StrangerError",
    "administrator",
    "check",
    "refusal",
]
