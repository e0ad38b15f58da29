"""What every session with PostgreSQL asks of the server: not to wait for us for ever.

A host that loses power or its network says nothing. Until the server gives its session up, that
session's transaction keeps its locks, and whoever takes its work over stands before them; the
server's own default is two hours.
"""

from __future__ import annotations

from typing import Final

_PROBES: Final = 3
_MS_PER_S: Final = 1_000


def session_settings(statement_timeout_ms: int) -> dict[str, str]:
    """For `server_settings`: a client that neither speaks nor acknowledges for as long as a
    statement may take is gone, and its transaction with it."""
    probe_every_s = max(1, statement_timeout_ms // _MS_PER_S // _PROBES)
    return {
        "idle_in_transaction_session_timeout": str(statement_timeout_ms),
        "tcp_user_timeout": str(statement_timeout_ms),
        "tcp_keepalives_idle": str(probe_every_s),
        "tcp_keepalives_interval": str(probe_every_s),
        "tcp_keepalives_count": str(_PROBES),
    }
