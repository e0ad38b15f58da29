"""What is wrong with a template or with a value for it."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError


class TemplateError(LockstepError):
    """`where` names the parameter, or line and column."""

    fault = Fault.USER
