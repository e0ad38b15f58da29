"""Clusters for the tests of this folder."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from lockstep.embedded import EmbeddedServers
from tests.integration.services.cluster import Cluster, running_cluster

Start = Callable[..., AbstractAsyncContextManager[Cluster]]


@pytest.fixture
def cluster_of(servers: EmbeddedServers, tmp_path: Path) -> Start:
    """`async with cluster_of("coordinator", "processor-1", …) as cluster`."""

    @contextlib.asynccontextmanager
    async def start(*nodes: str, **overrides: str) -> AsyncIterator[Cluster]:
        async with running_cluster(servers, tmp_path, nodes, **overrides) as cluster:
            yield cluster

    return start
