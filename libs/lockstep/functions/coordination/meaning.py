"""`coordination:isLeader`: true on every replica.

On the older product each node of a cluster folded events of its own, and all but one threw their
rows away by this condition. Here every replica folds the same log, and the rows of the one that
leads are published, whatever a query computes. A function that told a replica whether it leads
would give other answers on other replicas.
"""

from __future__ import annotations

from lockstep.functions.nulls import Factory, plain

FUNCTIONS: dict[tuple[str, str], Factory] = {("coordination", "isLeader"): plain(lambda: True)}
