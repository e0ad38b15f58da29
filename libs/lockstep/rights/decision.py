"""The one decision: whether a caller may. Pure."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError
from lockstep.rights.model import Kind, Permission, Principal
from lockstep.rights.needs import Need, Scope

WHO_HINT = (
    "send the header Authorization: Bearer <token>, or Basic with a user's name and password;"
    " the lockstep command takes --token"
)


class StrangerError(LockstepError):
    """Nobody knows who calls."""

    fault = Fault.USER


class ForbiddenError(LockstepError):
    """The caller is known, and may not."""

    fault = Fault.USER


def refusal(caller: Principal | None, need: Need, app: str | None = None) -> LockstepError | None:
    """Why not; None: it may. The words are the same whether or not there is such an app."""
    if need.scope is Scope.OPEN:
        return None
    if caller is None:
        return StrangerError("who are you? a token or a user's password is needed", hint=WHO_HINT)
    if caller.kind is Kind.PERSON and not caller.grants:
        return ForbiddenError(
            f"{caller} has no role here",
            hint="an administrator of the suite maps the provider's groups to roles: oidc.roles",
        )
    permission = need.permission
    if need.scope is Scope.KNOWN or permission is None:
        return None
    if need.scope is Scope.SOMEWHERE:
        return None if caller.may_somewhere(permission) else _forbidden(caller, permission, None)
    where = app if need.scope is Scope.APP else None
    return None if caller.may(permission, where) else _forbidden(caller, permission, where)


def check(caller: Principal | None, permission: Permission, app: str | None = None) -> None:
    """Raises StrangerError or ForbiddenError; `app` None: everywhere."""
    need = Need(Scope.EVERYWHERE if app is None else Scope.APP, permission)
    refused = refusal(caller, need, app)
    if refused is not None:
        raise refused


def _forbidden(caller: Principal, permission: Permission, app: str | None) -> ForbiddenError:
    where = "" if app is None else f" on app '{app}'"
    what = f"the right to {permission}{where}"
    if permission is Permission.CODE:
        what = f"the right to deploy code (define function){where}"
    return ForbiddenError(
        f"{caller} has not {what}",
        hint=f"ask an administrator of the suite for the role {permission}{where}",
    )
