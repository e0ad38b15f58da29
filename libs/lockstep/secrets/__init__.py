"""What an app may use and nobody may read: `${secret:name}` in the options of its connectors.

The text of an app, and whatever is made of it, keeps the reference. The service that opens a
connector reads the value there and then, from a file that its operator has put there.
"""

from lockstep.secrets.closed import close_to_apps, is_closed, is_named_closed, refuse_closed
from lockstep.secrets.hidden import Hidden
from lockstep.secrets.references import filled, names_in, problem_in
from lockstep.secrets.vault import SecretError, Vault

__all__ = [
    "Hidden",
    "SecretError",
    "Vault",
    "close_to_apps",
    "filled",
    "is_closed",
    "is_named_closed",
    "names_in",
    "problem_in",
    "refuse_closed",
]
