"""`scripts/compose` and `scripts/kubernetes` remove what they have started, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[3] / "scripts"
DOCKER = """#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in
 *" config") echo "name: lockstep"; echo "services:";;
 "ps -a"*) echo "$CONTAINERS";;
 "volume ls"*) echo "$VOLUMES";;
 *"up -d"*) echo "no such image: lockstep" >&2; exit 1;;
esac
"""
KUBECTL = """#!/bin/sh
echo "$*" >> "$0.calls"
case "$*" in
 *"get deployments"*) echo "$WORKLOADS";;
 *"get namespace"*) echo "$NAMESPACE";;
 apply*) echo namespace/lockstep; echo deployment.apps/door; echo "forbidden" >&2; exit 1;;
esac
"""


def ran(folder: Path, script: str, *words: str, **there: str) -> tuple[str, list[str]]:
    """What a script says last beside a cluster where that is there, and what it asked for. It has
    to fail."""
    for name, text in (("docker", DOCKER), ("kubectl", KUBECTL)):
        stub = folder / name
        stub.write_text(text)
        stub.chmod(0o755)
    done = subprocess.run(
        [SCRIPTS / script, *words],
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), **there},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    calls = folder / ("docker.calls" if script == "compose" else "kubectl.calls")
    return done.stdout.splitlines()[-1], calls.read_text().splitlines()


@pytest.mark.processes
@pytest.mark.parametrize("there", [{"CONTAINERS": "f00"}, {"VOLUMES": "lockstep_nats"}], ids=str)
def test_compose_leaves_a_suite_that_is_there(tmp_path: Path, there: dict[str, str]) -> None:
    """Its containers may be stopped, or only its volumes be left."""
    said, calls = ran(tmp_path, "compose", **there)
    assert said.startswith("compose: FAILED a suite is there already (project lockstep)")
    assert not [call for call in calls if " up " in call or " down " in call]


@pytest.mark.processes
@pytest.mark.parametrize("there", [{}, {"CONTAINERS": "f00", "AGAIN": "1"}], ids=str)
def test_compose_removes_what_it_has_started(tmp_path: Path, there: dict[str, str]) -> None:
    """Or what it was told to take over."""
    said, calls = ran(tmp_path, "compose", **there)
    assert said == "compose: FAILED the suite does not start"
    assert calls[-1] == "compose down -v --remove-orphans"


@pytest.mark.processes
def test_kubernetes_leaves_a_suite_that_is_there(tmp_path: Path) -> None:
    """Nothing is applied to it, and nothing deleted of it."""
    volume = "persistentvolumeclaim/data-postgres-0"
    said, calls = ran(tmp_path, "kubernetes", WORKLOADS=volume, NAMESPACE="namespace/lockstep")
    assert said.startswith(f"kubernetes: FAILED the namespace lockstep holds {volume}")
    assert len(calls) == 1


@pytest.mark.processes
@pytest.mark.parametrize("again", [False, True])
def test_kubernetes_removes_what_it_has_applied(tmp_path: Path, *, again: bool) -> None:
    """A namespace that was there before stays, with what else is in it."""
    there = {"WORKLOADS": "deployment.apps/door"} if again else {}
    words = ["--again"] if again else []
    said, calls = ran(tmp_path, "kubernetes", *words, NAMESPACE="namespace/lockstep", **there)
    assert said.startswith("kubernetes: FAILED kubectl apply")
    assert said.endswith("forbidden")
    deleted = [call for call in calls if " delete " in call]
    assert deleted == [
        "-n lockstep delete --ignore-not-found --wait=false pod/trial deployment.apps/door",
        "-n lockstep delete --ignore-not-found --wait=false persistentvolumeclaims --all",
    ]


@pytest.mark.processes
def test_kubernetes_removes_a_namespace_that_it_has_made(tmp_path: Path) -> None:
    """With all that is in it, unless it shall be kept."""
    _, calls = ran(tmp_path, "kubernetes")
    assert calls[-1] == "-n lockstep delete namespace lockstep --wait=false"
    (tmp_path / "kubectl.calls").unlink()
    _, calls = ran(tmp_path, "kubernetes", "--keep")
    assert not [call for call in calls if " delete " in call]
