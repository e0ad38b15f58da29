"""One Spark for all tests of this folder, as a processor has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from lockstep.execute.spark import SparkExecutor
from lockstep.plan import plan_of

Make = Callable[..., SparkExecutor]


@pytest.fixture
def make(spark_env: None) -> Iterator[Make]:
    """Makes executors that are closed after the test."""
    made: list[SparkExecutor] = []

    def make_executor(text: str, **options: object) -> SparkExecutor:
        made.append(SparkExecutor(plan_of(text), **options))  # type: ignore[arg-type]
        return made[-1]

    yield make_executor
    for executor in made:
        executor.close()
