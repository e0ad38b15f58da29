"""The error of every text that is not a valid app: line, column, what is wrong, and a hint."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError


class SiddhiQLError(LockstepError, ValueError):
    """A text that does not parse or does not mean anything; always positioned (1-based)."""

    fault = Fault.USER

    def __init__(
        self, message: str, *, line: int = 1, column: int = 1, hint: str | None = None
    ) -> None:
        super().__init__(message, where=f"line {line}:{column}", hint=hint)
        self.line = line
        self.column = column
