"""The Kubernetes manifests fit the services: settings, secrets, probes, ports, times, permissions.

A cluster tells of most of these mistakes too late, or never.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from lockstep.rights import ROUTES, Scope
from lockstep.settings import Settings, load_settings
from lockstep.telemetry.names import METRICS
from tests.architecture.manifests import (
    K8S,
    OURS,
    SERVICES,
    Document,
    deployments,
    documents,
    environment_of,
    kustomizations,
    literals,
    memory_limits,
    parts,
    pod_of,
    resources,
    settings_of,
    workloads,
)

SECRETS = {"token", "bus-url", "redis-url", "postgres-dsn"}
SECRETS_FOLDER = "/var/run/lockstep/"
CLUSTER_FOLDER = "/var/run/lockstep-cluster/"
MARGIN_S = 5
MIB = 1 << 20
GIB = 1 << 30
ROW_BYTES = 200
"""Of a state, at most."""
IDLE_WORKER_BYTES = 1_300 * MIB
"""What a worker of Spark that holds nothing has of what its limit counts, as measured."""


def named(workload: Document) -> str:
    """For the test's id."""
    return str(workload["metadata"]["name"])


def containers() -> Iterator[tuple[str, Document]]:
    """(workload, container) of all."""
    for one in workloads():
        for container in pod_of(one)["containers"]:
            yield named(one), container


def variables() -> dict[str, str]:
    """Every LOCKSTEP_ variable that some manifest sets."""
    found = {
        key: value
        for folder in kustomizations()
        for _, key, value in literals(folder, "configMapGenerator")
    }
    places = [pod_of(one)["containers"] for one in workloads()]
    placement = documents(K8S / "overlays/production/placement.yaml")[0]
    places.append(pod_of(placement)["containers"])
    for one in places:
        for variable in one[0].get("env", ()):
            found[variable["name"]] = re.sub(r"\$\(\w+\)", "pod", variable.get("value", "pod"))
    return {key: value for key, value in found.items() if key.startswith("LOCKSTEP_")}


def test_all_settings_are_known() -> None:
    """The services would refuse to start with any other."""
    given = variables()
    assert len(given) > 10
    folders = (SECRETS_FOLDER, CLUSTER_FOLDER)
    secrets = {key for key, value in given.items() if value.startswith(folders)}
    settings = load_settings({key: given[key] for key in given.keys() - secrets})
    assert settings.server.port == 8080
    for name in given:
        section, _, key = name.removeprefix("LOCKSTEP_").lower().partition("__")
        model = Settings.model_fields[section].annotation
        assert isinstance(model, type)
        asked = key.removesuffix("_file") if name in secrets else key
        assert asked in model.model_fields, name


def test_the_secret_of_a_cluster_is_mounted_where_its_setting_reads_it() -> None:
    """And the README says how to make it, with the key that is read."""
    folder = K8S / "components" / "cluster-secret"
    ((_, name, value),) = literals(folder, "configMapGenerator")
    assert name == "LOCKSTEP_CLUSTER__SECRET_FILE"
    pod = documents(folder / "pods.yaml")[0]["spec"]["template"]["spec"]
    (mount,) = pod["containers"][0]["volumeMounts"]
    (volume,) = pod["volumes"]
    assert (mount["mountPath"] + "/", mount["name"]) == (CLUSTER_FOLDER, volume["name"])
    key = value.removeprefix(CLUSTER_FOLDER)
    made = f"secret generic {volume['secret']['secretName']} --from-literal={key}="
    assert made in (K8S / "README.md").read_text()


def test_files_of_secrets_are_keys_of_the_secret() -> None:
    """What a setting reads from a file is in the secret of every quickstart, and in the README."""
    files = [value for value in variables().values() if value.startswith(SECRETS_FOLDER)]
    assert {path.removeprefix(SECRETS_FOLDER) for path in files} == SECRETS
    page = (K8S / "README.md").read_text()
    assert all(f"--from-literal={key}=" in page for key in SECRETS)
    for overlay in ("quickstart", "quickstart-kafka"):
        made = literals(K8S / "overlays" / overlay, "secretGenerator")
        assert {key for name, key, _ in made if name == "lockstep-secrets"} == SECRETS


def test_with_tls_all_speak_it_and_find_their_files() -> None:
    """Pods, probes, addresses and HAProxy; people's browsers need no certificate."""
    folder = K8S / "components" / "tls"
    given = {key: value for _, key, value in literals(folder, "configMapGenerator")}
    settings = load_settings(given)
    assert settings.server.tls
    assert settings.client.tls
    base = dict(line.split("=", 1) for line in (K8S / "base/settings.env").read_text().split())
    for name, url in base.items():
        assert not url.startswith("http://") or given[name] == url.replace("http", "https", 1)
    for file in ("pods.yaml", "door.yaml"):
        pod = pod_of(documents(folder / file)[0])
        (container,) = pod["containers"]
        probes = [value for key, value in container.items() if key.endswith("Probe")]
        assert probes
        assert all(probe["httpGet"] == {"scheme": "HTTPS"} for probe in probes)
        place = container["volumeMounts"][0]["mountPath"]
        files = [value for key, value in given.items() if key.endswith("_FILE")]
        assert {Path(each).parent for each in files} == {Path(place)}
        secret = pod["volumes"][0]["secret"]["secretName"]
        assert f"generic {secret}" in (K8S / "README.md").read_text()
    (console,) = pod_of(documents(folder / "console.yaml")[0])["containers"]
    assert {one["name"]: one["value"] for one in console["env"]} == {
        "LOCKSTEP_SERVER__TLS_CLIENT_CA_FILE": ""
    }


def overlays_with_components() -> Iterator[tuple[str, str]]:
    """Each overlay alone, and with each component."""
    for overlay in sorted(path.name for path in (K8S / "overlays").iterdir()):
        for component in ("", *sorted(path.name for path in (K8S / "components").iterdir())):
            yield overlay, component


@pytest.mark.parametrize(("overlay", "component"), list(overlays_with_components()))
def test_a_kubelet_knows_every_variable_that_another_one_names(
    overlay: str, component: str
) -> None:
    """It knows those that stand before: else a pod's name would be `$(POD_NAME)`, and all pods
    would announce one address that is none."""
    *before, last = parts(K8S / "overlays" / overlay)
    added = parts(K8S / "components" / component) if component else []
    found = deployments([*before, *added, last])
    assert set(OURS) <= {named(one) for one in found}
    scheme = "https" if component == "tls" else "http"
    for one in found:
        (container,) = pod_of(one)["containers"]
        given = environment_of(container)
        assert not {key: value for key, value in given.items() if "$(" in value}, named(one)
        if named(one) in OURS:
            assert given["LOCKSTEP_SERVER__ADVERTISED_URL"].startswith(f"{scheme}://known")


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
@pytest.mark.parametrize("overlay", ["production", "quickstart"])
def test_the_order_of_variables_is_that_of_kustomize(overlay: str) -> None:
    """What the test above takes a rendering for is one."""
    folder = K8S / "overlays" / overlay
    command = ["kubectl", "kustomize", str(folder)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    made = {named(one): one for one in yaml.safe_load_all(text) if one["kind"] == "Deployment"}
    for one in deployments(parts(folder)):
        (ours,), (theirs,) = (pod_of(each)["containers"] for each in (one, made[named(one)]))
        assert ours.get("env", []) == theirs.get("env", [])


@pytest.mark.parametrize("overlay", ["quickstart", "quickstart-kafka"])
def test_a_quickstart_makes_the_passwords_that_its_servers_ask_for(overlay: str) -> None:
    """And its URLs hold the same ones."""
    folder = K8S / "overlays" / overlay
    made = list(literals(folder, "secretGenerator"))
    passwords = {key: value for name, key, value in made if name == "lockstep-servers"}
    asked = set()
    for component in documents(folder / "kustomization.yaml")[0]["components"]:
        for one in resources((folder / component).resolve()):
            for wanted in _references(one, "secretKeyRef"):
                asked.add(wanted["key"])
                assert wanted["name"] == "lockstep-servers"
    assert asked == set(passwords)
    for name, key, url in made:
        if name == "lockstep-secrets" and "@" in url:
            assert url.partition("@")[0].endswith(":quickstart"), key
    assert set(passwords.values()) == {"quickstart"}


def _references(value: Any, kind: str) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == kind:
                yield inner
            yield from _references(inner, kind)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner, kind)


def test_every_file_is_used_and_every_used_one_is_there() -> None:
    """What no kustomization names is dead; what is not there fails when it is applied."""
    used = set()
    for folder in kustomizations():
        one = documents(folder / "kustomization.yaml")[0]
        names = [*one.get("resources", ()), *one.get("components", ())]
        names += [patch["path"] for patch in one.get("patches", ()) if "path" in patch]
        for generator in one.get("configMapGenerator", ()):
            names += [*generator.get("files", ()), *generator.get("envs", ())]
        used |= {(folder / name).resolve() for name in names}
    assert [path for path in used if not path.exists()] == []
    kept = {"kustomization.yaml", "README.md", "adapter.yaml"}
    files = {path for path in K8S.rglob("*") if path.is_file() and path.name not in kept}
    assert files - used == set()


def test_maps_and_secrets_that_pods_name_are_made() -> None:
    """By a generator here, or by whoever installs it, as the README says."""
    made = {"lockstep-ca"}
    for folder in kustomizations():
        kustomization = documents(folder / "kustomization.yaml")[0]
        for generator in ("configMapGenerator", "secretGenerator"):
            made |= {one["name"] for one in kustomization.get(generator, ())}
    for one in workloads():
        for kind, key in (
            ("configMapRef", "name"),
            ("configMap", "name"),
            ("secret", "secretName"),
        ):
            assert {each[key] for each in _references(one, kind)} <= made, named(one)


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_probes(workload: Document) -> None:
    """Their ports are the container's, their paths are the service's, and they wait long enough: a
    check has two seconds."""
    for container in pod_of(workload)["containers"]:
        ports = {port["name"] for port in container["ports"]}
        assert {"readinessProbe", "livenessProbe"} <= set(container)
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            probe = container.get(kind)
            if probe is None:
                continue
            assert probe["timeoutSeconds"] >= 5
            for how in ("httpGet", "tcpSocket"):
                assert how not in probe or probe[how]["port"] in ports
            if named(workload) in OURS:
                assert ROUTES["GET", probe["httpGet"]["path"]].scope is Scope.OPEN
    if named(workload) in OURS:
        (service,) = pod_of(workload)["containers"]
        assert service["livenessProbe"]["httpGet"]["path"] == "/healthz"
        assert service["readinessProbe"]["httpGet"]["path"] == "/readyz"


@pytest.mark.parametrize("workload", workloads(), ids=named)
def test_pods_may_do_nothing_that_they_do_not_need(workload: Document) -> None:
    """The namespace enforces the restricted profile of Pod Security."""
    pod = pod_of(workload)
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False
    for container in pod["containers"]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])
        assert "memory" in container["resources"]["limits"]


def test_a_pod_is_given_the_time_to_drain() -> None:
    """Longer than it waits before, and than the service takes at most."""
    limit_s = load_settings({}).server.drain_timeout_ms / 1000
    ours = [one for one in workloads() if named(one) in OURS]
    assert {named(one) for one in ours} == set(OURS)
    for one in ours:
        (service,) = pod_of(one)["containers"]
        before = service.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
        wait_s = int(before[1]) if before else 0
        assert pod_of(one)["terminationGracePeriodSeconds"] >= wait_s + limit_s + MARGIN_S


def test_what_runs_twice_loses_one_at_a_time() -> None:
    """By a disruption budget when machines are drained, and on different machines."""
    brought = [one for folder in kustomizations() for one in resources(folder)]
    budgets = {
        one["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"]: one["spec"]
        for one in brought
        if one["kind"] == "PodDisruptionBudget"
    }
    for name in (*OURS, "door"):
        assert budgets[name]["maxUnavailable"] == 1
    for one in workloads():
        if named(one) in {*SERVICES, "door"}:
            pods = pod_of(one)["affinity"]["podAntiAffinity"]
            (rule,) = pods["preferredDuringSchedulingIgnoredDuringExecution"]
            selector = rule["podAffinityTerm"]["labelSelector"]["matchLabels"]
            assert selector == one["spec"]["template"]["metadata"]["labels"]


def _bytes(size: str) -> int:
    """As Spark writes sizes."""
    return int(size[:-1]) << {"m": 20, "g": 30}[size[-1]]


@pytest.mark.parametrize("extra", ["", "archive", "archive-memory", "spark"])
@pytest.mark.parametrize("overlay", ["quickstart", "quickstart-kafka", "production"])
def test_a_pod_has_room_for_the_processes_that_its_settings_allow(overlay: str, extra: str) -> None:
    """Else the system ends the whole pod before a setting ends the one process that takes too
    much."""
    folders = parts(K8S / "overlays" / overlay)
    folders += parts(K8S / "components" / extra) if extra else []
    settings, limits = load_settings(settings_of(folders)), memory_limits(folders)
    archive, batch, spark = settings.archive, settings.batch, settings.spark
    is_archived = extra.startswith("archive")
    queries = is_archived * archive.max_queries * archive.query_memory_bytes
    workers = spark.workers * _bytes(spark.worker_memory)
    console = settings.console
    scripts = 512 * MIB + batch.max_abreast * batch.memory_bytes  # with the rows that a run gives
    needs = {
        "coordinator": GIB + queries,
        "presenter": GIB + queries,
        "publisher": 512 * MIB + is_archived * scripts,
        "console": 512 * MIB + console.max_workshops * console.workshop_memory_bytes,
        "processor": 2 * GIB + (0 if extra == "spark" else workers),
    }
    if extra == "spark":
        (pod,) = (pod_of(one) for one in workloads() if named(one) == "spark-worker")
        words = pod["containers"][0]["args"]
        cores, memory = (words[words.index(f"--{what}") + 1] for what in ("cores", "memory"))
        heap = _bytes(spark.executor_memory)
        assert _bytes(memory) == int(cores) * heap
        each = heap + 512 * MIB + _bytes(spark.worker_memory)
        needs["spark-worker"] = 512 * MIB + int(cores) * each
    short = {name: limits[name] - need for name, need in needs.items() if limits[name] < need}
    assert not short
    rows_bytes = settings.processor.state_max_rows * ROW_BYTES
    assert rows_bytes <= workers - spark.workers * IDLE_WORKER_BYTES


def test_services_and_policies_select_pods_that_exist() -> None:
    """By labels that some workload's pods have."""
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in workloads()]
    seen = 0
    for folder in kustomizations():
        for one in resources(folder):
            spec = one.get("spec", {})
            selectors = []
            if one["kind"] == "Service":
                selectors.append(spec["selector"])
            elif one["kind"] in ("PodDisruptionBudget", "Deployment", "StatefulSet"):
                selectors.append(spec["selector"]["matchLabels"])
            elif one["kind"] == "NetworkPolicy":
                selectors.append(spec["podSelector"]["matchLabels"])
            for wanted in selectors:
                seen += 1
                assert any(wanted.items() <= each.items() for each in labels), json.dumps(one)
    assert seen > 30


def test_the_image_starts_what_the_pods_ask_for() -> None:
    """`args`, not `command`, which would take tini away; and the module has a main."""
    for name, container in containers():
        if container["image"] != "lockstep":
            continue
        assert "command" not in container, name
        if name in OURS:
            assert container["args"] == ["python3", "-m", f"lockstep_services.{name}"]


def test_the_autoscaler_asks_for_metrics_that_the_adapter_makes_of_known_ones() -> None:
    """Any other name would never scale anything, and nobody would be told."""
    folder = K8S / "components" / "autoscaling"
    rules = documents(folder / "adapter.yaml")[0]["rules"]["custom"]
    known = set(METRICS)
    for rule in rules:
        series = rule["seriesQuery"].partition("{")[0]
        assert series in known or series.removesuffix("_sum") in known
    (scaler,) = documents(folder / "autoscaler.yaml")
    asked = {one["pods"]["metric"]["name"] for one in scaler["spec"]["metrics"]}
    assert asked == {rule["name"]["as"] for rule in rules}
    (lag,) = (rule for rule in rules if rule["name"]["as"] == "lockstep_lag_positions")
    assert 'lockstep_processor_role{role="active"}' in lag["metricsQuery"]
    target = scaler["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", "processor")
