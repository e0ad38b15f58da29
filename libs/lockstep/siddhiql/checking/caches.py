"""@cache of a @store: its size, and how long what is in it holds."""

from __future__ import annotations

from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.annotations import single
from lockstep.siddhiql.durations import annotation_ms
from lockstep.siddhiql.typing import positioned

_POLICIES = ("FIFO", "LRU", "LFU")


def check_cache(store: ast.Annotation) -> None:
    """The annotation, if there is one, is right."""
    cache = single(store.annotations, "cache")
    if cache is None:
        return
    policy = cache.get("cache.policy")
    if policy is not None and policy.upper() not in _POLICIES:
        raise positioned(cache.at, f"there is no cache policy {policy!r}", " or ".join(_POLICIES))
    if not (cache.get("size") or "").strip().isdigit():
        raise positioned(cache.at, "@cache needs a number as 'size'", "size='100'")
    for element in ("retention.period", "purge.interval"):
        annotation_ms(cache, element)
