"""The way from one bus object to its carrier, which tests and simulations can cut."""

from __future__ import annotations

from lockstep.events import UnavailableError


class Link:
    """Every operation passes it once before it takes effect and once before its answer is heard."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.reachable = True
        self.answers_to_lose = 0

    def send(self) -> None:
        """On the way there; UnavailableError when it is cut: nothing happens."""
        if not self.reachable:
            raise UnavailableError("the bus cannot be reached", where=self._name)

    def answer(self) -> None:
        """On the way back; UnavailableError although it has happened."""
        self.send()
        if self.answers_to_lose > 0:
            self.answers_to_lose -= 1
            raise UnavailableError("the bus did not answer", where=self._name)
