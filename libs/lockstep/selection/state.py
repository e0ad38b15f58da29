"""The state of a selector in the reference's form, instance by instance."""

from __future__ import annotations

from typing import Any

import numpy as np

from lockstep.aggregators.columns import Aggregates
from lockstep.columns.frame import Frame
from lockstep.columns.keys import Ids
from lockstep.columns.realms import Realms
from lockstep.selection.columns import SelectorOperator


class SelectorState:
    """Converts the aggregates of a query; see selection.meaning for the form."""

    def __init__(self, query: str, realms: Realms, selector: SelectorOperator) -> None:
        self._query = query
        self._realms = realms
        self._groups = selector.groups
        self._aggregates = selector.aggregates
        self._of_realm: dict[int, list[tuple[Any, list[Any]]]] = {}
        self._alone: list[list[Any]] = []
        self._room = 0

    def prepare(self, held: tuple[Frame, Ids] | None = None) -> None:
        """Before `stored`: makes room for instances that nothing was fed to. `held`: the rows that
        the groups of all instances hold, and whose each one is; where states are made of them."""
        self._groups.realms = max(self._groups.realms, len(self._realms.keys))
        self.reserve()
        self._of_realm, self._alone = {}, []
        if not len(self._aggregates):
            return
        if not self._groups.is_grouped:
            self._alone = self._states(np.arange(self._groups.realms), held)
            return
        live = np.flatnonzero(self._aggregates.live(len(self._groups)))
        for group, states in zip(live.tolist(), self._states(live, held), strict=True):
            realm, key = self._groups.named(group)
            self._of_realm.setdefault(realm, []).append((key, states))

    def _states(self, groups: Ids, held: tuple[Frame, Ids] | None) -> list[list[Any]]:
        states = self._aggregates.store(groups)
        if held is not None and isinstance(self._aggregates, Aggregates):
            self._aggregates.of_rows(groups, states, *held)
        return states

    def reserve(self) -> None:
        """Makes room for all groups."""
        self._aggregates.reserve(max(len(self._groups), 1), self._groups.realms, 0)

    def _reserve_more(self) -> None:
        """Makes room while groups are loaded, for more than there are."""
        count = max(len(self._groups), self._groups.realms)
        if count > self._room:
            self._room = 2 * count
            self._aggregates.reserve(self._room, self._room, 0)

    def stored(self, realm: int) -> Any:
        """The state of an instance."""
        fresh = self._realms.fresh(self._query, "selector")
        if not len(self._aggregates):
            return fresh
        if not self._groups.is_grouped:
            return (self._alone[realm], [])
        return (fresh[0], self._of_realm.get(realm, []))

    def load(self, realm: int, state: Any) -> None:
        """Takes over what `stored` gave; `reserve` has to follow when all are loaded."""
        aggregates, groups = self._aggregates, self._groups
        groups.realms = max(groups.realms, realm + 1)
        if not len(aggregates):
            return
        alone, by_key = state
        if not groups.is_grouped:
            self._reserve_more()
            aggregates.load(np.array([realm]), realm, [alone])
            return
        ids = [groups.id_of(realm, key) for key, _ in by_key]
        self._reserve_more()
        if ids:
            aggregates.load(np.array(ids), realm, [saved for _, saved in by_key])
