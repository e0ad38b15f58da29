"""`coordination:`: what each function takes and gives (extensions 27)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue.contract import Extension
from lockstep.siddhiql.catalogue.signatures import BOOL, function, gives

EXTENSIONS: tuple[Extension, ...] = (function("isLeader", gives(BOOL), namespace="coordination"),)
