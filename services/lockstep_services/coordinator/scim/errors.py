"""What is wrong with a request of SCIM, in its own words (RFC 7644, 3.12)."""

from __future__ import annotations

from http import HTTPStatus

from lockstep.events import Fault, LockstepError


class ScimError(LockstepError):
    """`kind`: the keyword of RFC 7644 ("invalidFilter", "uniqueness"), empty where it has none."""

    fault = Fault.USER

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.status = status
