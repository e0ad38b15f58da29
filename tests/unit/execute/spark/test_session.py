"""The process's Spark as its callers see it, without one: its context is made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unittest.mock import MagicMock

import pytest

from lockstep.execute.spark.company import SparkFailedError, Task
from lockstep.execute.spark.jobs import _is_death
from lockstep.execute.spark.session import SparkSlices
from lockstep.execute.spark.slots import Use

pytestmark = pytest.mark.unit


def echo(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """Any function."""
    return iter(payloads)


def test_the_worker_that_has_a_state_is_told_that_it_is_gone() -> None:
    """A slot of a cluster has a worker in each Spark executor."""
    slices, use = SparkSlices(MagicMock(), 2, is_local=False), Use("App")
    for location, instance in (("executor_a_0", "1-1"), ("executor_b_1", "1-2"), (None, "1-3")):
        assert slices.acquire(use) in (0, 1)
        slices.release(use, 0, location, instance)
    assert slices.gone(1, "executor_a_0") == []
    assert slices.gone(0, "executor_b_1") == ["1-2"]
    assert slices.gone(0, "executor_b_1") == []
    assert slices.gone(0, "executor_a_0") == ["1-1"]
    assert slices.gone(0, None) == ["1-3"]
    slices.close()


@pytest.mark.parametrize("is_local", [True, False])
def test_whoever_comes_when_it_is_closed_can_try_again(is_local: bool) -> None:
    """The first one that found it gone has made another one."""
    slices = SparkSlices(MagicMock(), 1, is_local=is_local)
    slices.close()
    for _ in range(2):
        with pytest.raises(SparkFailedError, match="gone"):
            slices.run(echo, [Task(0, b"request")])


@pytest.mark.parametrize(
    ("message", "is_death"),
    [
        ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", True),
        ("PythonException: Traceback (most recent call last): MemoryError", True),
        ("numpy._core._exceptions._ArrayMemoryError: Unable to allocate", True),
        ("java.lang.OutOfMemoryError: Java heap space", False),
        ("Connection refused", False),
    ],
)
def test_of_which_errors_a_python_worker_has_died(message: str, is_death: bool) -> None:
    """The JVM's memory is not the worker's."""
    assert _is_death(message) == is_death
