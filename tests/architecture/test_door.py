"""One address in front of all services: each path goes to the service that has it; and the settings
of compose.yaml are known.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

import pytest

from lockstep.settings import load_settings
from tests.architecture.manifests import K8S, ROOT, SERVICES, documents, merged
from tests.architecture.source import modules

RULES = (K8S / "components" / "door" / "haproxy.cfg").read_text()
EVERYWHERE = {"/healthz", "/readyz", "/health", "/metrics"}
FILLED = {"{app}": "Hot", "{stream}": "Reading", "{table}": "T", "{node}": "processor-2"}


def served() -> Iterator[tuple[str, str, str]]:
    """(service, method, path) of every route that a service's source adds."""
    for service in SERVICES:
        for module in modules(f"services/lockstep_services/{service}"):
            for node in ast.walk(module.tree):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                    continue
                kind, _, method = node.func.attr.partition("_")
                first = node.args[0] if node.args else None
                if kind == "add" and isinstance(first, ast.Constant):
                    path = str(first.value)
                    if path.startswith("/") and path not in EVERYWHERE:
                        yield service, method.upper(), path


def parts_of(words: str) -> list[str]:
    """The single tests of an ACL or a condition, in words."""
    return [part.strip(" {}") for part in re.split(r"\|\||\}\s*\{", words)]


def holds(test: str, method: str, path: str) -> bool:
    """One test of HAProxy, as far as they are used here."""
    name, *values = test.split()
    if name == "METH_POST":
        return method == "POST"
    if name == "path":
        return path in values
    if name == "path_beg":
        return any(path.startswith(value) for value in values)
    assert name == "path_reg", name
    return any(re.search(value, path) is not None for value in values)


def door(method: str, path: str) -> str:
    """The service that HAProxy would choose: the first rule that holds."""
    named: Mapping[str, str] = dict(re.findall(r"^  acl (\S+) +(.+)$", RULES, re.MULTILINE))
    for backend, condition in re.findall(r"^  use_backend (\S+)s if (.+)$", RULES, re.MULTILINE):
        if "{" in condition:
            if any(holds(test, method, path) for test in parts_of(condition)):
                return str(backend)
            continue
        words = condition.split()
        found = [(word, named.get(word.lstrip("!"), word.lstrip("!"))) for word in words]
        if all(holds(test, method, path) != word.startswith("!") for word, test in found):
            return str(backend)
    return "coordinator"


def filled(path: str) -> str:
    """A path with names for its parameters."""
    for parameter, value in FILLED.items():
        path = path.replace(parameter, value)
    return re.sub(r"\{[^}]+\}", "x", path)


def test_every_route_is_reached_through_the_door() -> None:
    """The rules send it to the service that has it."""
    routes = list(served())
    assert {service for service, _, _ in routes} == {"coordinator", "presenter", "receiver"}
    wrong = [
        f"{method} {path} of the {service} goes to the {door(method, filled(path))}"
        for service, method, path in routes
        if door(method, filled(path)) != service
    ]
    assert not wrong


def test_the_rules_are_read_as_haproxy_reads_them() -> None:
    """Every line that chooses a service is one that the test above understands."""
    chosen = re.findall(r"use_backend.*", RULES)
    assert len(chosen) == 5
    assert "default_backend coordinators" in RULES
    assert door("POST", "/Hot/Reading") == "receiver"
    assert door("GET", "/") == "presenter"
    assert door("POST", "/stores/query") == "presenter"
    assert door("POST", "/v1/datasources/customers/rows") == "receiver"
    assert door("GET", "/v1/datasources") == "receiver"


def test_settings_of_compose_are_known() -> None:
    """The services would refuse to start with any other."""
    compose = documents(ROOT / "compose.yaml")[0]
    given = {
        key: re.sub(r"\$\{[^:]+:-(.*)\}", r"\1", value)
        for key, value in compose["x-environment"].items()
    }
    given["LOCKSTEP_BUS__URL"] = "nats://lockstep:lockstep@nats:4222"
    given["LOCKSTEP_LEADER__URL"] = "redis://redis:6379/0"
    given["LOCKSTEP_STORE__POSTGRES_DSN"] = "postgresql://lockstep@postgres/lockstep"
    assert load_settings(given).client.url == "http://door:8080"


@pytest.mark.parametrize("kind", ["kafka", "spark"])
def test_files_that_choose_a_profile(kind: str) -> None:
    """Their variables are those that compose.yaml reads."""
    text = (ROOT / "compose.yaml").read_text()
    lines = (ROOT / "services" / "compose" / f"{kind}.env").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert given.pop("COMPOSE_PROFILES") == kind
    assert f"profiles: [{kind}]" in text
    assert given
    assert all(f"${{{name}:-" in text for name in given)


def test_the_door_is_asked_for_its_health_as_it_speaks() -> None:
    """With TLS by https, and without a look at a certificate that names no address; else it would
    never count as healthy, and what waits for it would never start."""
    plain = documents(ROOT / "compose.yaml")[0]
    others = sorted((ROOT / "services" / "compose").glob("*.yaml"))
    files = [plain, *(merged(plain, documents(path)[0]) for path in others)]
    doors = [one["services"]["door"] for one in files]
    with_tls = [one for one in doors if one["environment"].get("TLS")]
    assert with_tls
    for one in doors:
        *command, url = one["healthcheck"]["test"]
        scheme = "https" if one in with_tls else "http"
        assert url == f"{scheme}://127.0.0.1:8080/healthz"
        assert ("--no-check-certificate" in command) == (one in with_tls)
        assert one["healthcheck"]["retries"] == 30


def test_two_of_everything() -> None:
    """What starts without a profile, and how many of it."""
    services = documents(ROOT / "compose.yaml")[0]["services"]
    numbers = {name: services[name]["deploy"]["replicas"] for name in SERVICES}
    assert numbers == {
        "coordinator": 2, "receiver": 2, "publisher": 2, "presenter": 2, "processor": 3,
    }  # fmt: skip
    started = {name for name, one in services.items() if "profiles" not in one}
    assert started == {*SERVICES, "nats", "redis", "postgres", "door", "console"}
