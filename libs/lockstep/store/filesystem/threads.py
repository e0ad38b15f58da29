"""Methods that wait for files, as ones that the event loop does not wait for."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, TypeVar

Thing = TypeVar("Thing")
Owner = TypeVar("Owner")
P = ParamSpec("P")


def on_thread(
    work: Callable[Concatenate[Owner, P], Thing],
) -> Callable[Concatenate[Owner, P], Coroutine[Any, Any, Thing]]:
    """The method, run on a thread."""

    @functools.wraps(work)
    async def called(owner: Owner, /, *args: P.args, **kwargs: P.kwargs) -> Thing:
        return await asyncio.to_thread(work, owner, *args, **kwargs)

    return called
