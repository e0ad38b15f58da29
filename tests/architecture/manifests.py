"""What is in `k8s` and in `compose.yaml`, read as YAML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2]
K8S: Final = ROOT / "k8s"
SERVICES: Final = ("coordinator", "processor", "publisher", "presenter", "receiver")
OURS: Final = (*SERVICES, "console")
LIMIT: Final = "/spec/template/spec/containers/0/resources/limits/memory"
Document = Mapping[str, Any]


def documents(path: Path) -> list[Document]:
    """All documents of a file."""
    return [one for one in yaml.safe_load_all(path.read_text()) if one is not None]


def kustomizations() -> list[Path]:
    """The folders that `kubectl kustomize` or another folder can name."""
    return sorted(path.parent for path in K8S.rglob("kustomization.yaml"))


def resources(folder: Path) -> Iterator[Document]:
    """What a folder brings by itself."""
    for name in documents(folder / "kustomization.yaml")[0].get("resources", ()):
        if not (folder / name).is_dir():
            yield from documents(folder / name)


def merged(one: Any, other: Any) -> Any:
    """A strategic merge as far as it is used here: lists of named things by name, others replaced.
    As kustomize has it, what the patch names stands before the rest."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        both = {key: merged(one[key], other[key]) for key in one if key in other}
        return {**one, **other, **both}
    if isinstance(one, list) and isinstance(other, list):
        if not all(isinstance(each, Mapping) and "name" in each for each in (*one, *other)):
            return other
        named = {each["name"]: each for each in one}
        first = [merged(named.pop(each["name"], {}), each) for each in other]
        return [*first, *named.values()]
    return other


@cache
def workloads() -> list[Document]:
    """All Deployments and StatefulSets, with what base/pod.yaml adds to those of the services."""
    pod = documents(K8S / "base" / "pod.yaml")[0]
    found: list[Document] = []
    for folder in kustomizations():
        for one in resources(folder):
            if one["kind"] in ("Deployment", "StatefulSet"):
                ours = one["metadata"]["name"] in OURS
                spec = merged(one["spec"], pod["spec"]) if ours else one["spec"]
                found.append({**one, "spec": spec})
    return found


def deployments(folders: Iterable[Path]) -> list[Document]:
    """Of these folders, with the patches that are files, in their order. Those of single values
    leave the environment alone."""
    found: list[Document] = []
    for folder in folders:
        found += [one for one in resources(folder) if one["kind"] == "Deployment"]
        for patch in documents(folder / "kustomization.yaml")[0].get("patches", ()):
            if "path" in patch:
                (change,) = documents(folder / patch["path"])
                found = [_patched(one, change, patch["target"]) for one in found]
    return found


def _patched(one: Document, change: Document, target: Document) -> Document:
    label, _, value = target.get("labelSelector", "=").partition("=")
    is_meant = (
        target["kind"] == one["kind"]
        and target.get("name") in (None, one["metadata"]["name"])
        and (not label or one["metadata"].get("labels", {}).get(label) == value)
    )
    return {**one, "spec": merged(one["spec"], change["spec"])} if is_meant else one


def environment_of(container: Document) -> dict[str, str]:
    """As a kubelet makes it: `$(NAME)` is a variable that stands before; else it stays as it is."""
    found: dict[str, str] = {}
    for one in container.get("env", ()):
        if "value" in one:
            found[one["name"]] = re.sub(
                r"\$\((\w+)\)", lambda name: found.get(name[1], name[0]), one["value"]
            )
        else:
            found[one["name"]] = "known-to-the-kubelet"
    return found


def pod_of(workload: Document) -> Document:
    """Its pods' specification."""
    found: Document = workload["spec"]["template"]["spec"]
    return found


def literals(folder: Path, generator: str) -> Iterator[tuple[str, str, str]]:
    """(name of the map or secret, key, value) of what a folder generates from literals and .env."""
    for one in documents(folder / "kustomization.yaml")[0].get(generator, ()):
        lines = list(one.get("literals", ()))
        for name in one.get("envs", ()):
            lines += (folder / name).read_text().split()
        for line in lines:
            key, _, value = line.partition("=")
            yield one["name"], key, value


def parts(folder: Path) -> list[Path]:
    """What a folder is put together of, in the order in which kustomize does: itself last."""
    one = documents(folder / "kustomization.yaml")[0]
    names = [*one.get("resources", ()), *one.get("components", ())]
    below = [(folder / name).resolve() for name in names if (folder / name).is_dir()]
    return [*(part for each in below for part in parts(each)), folder]


def settings_of(folders: Iterable[Path]) -> dict[str, str]:
    """Of the services; what a later folder says counts. Without what is read from files."""
    found = {
        key: value
        for folder in folders
        for name, key, value in literals(folder, "configMapGenerator")
        if name == "lockstep-settings"
    }
    return {key: value for key, value in found.items() if not key.endswith("_FILE")}


def memory_limits(folders: Iterable[Path]) -> dict[str, int]:
    """In bytes, of the containers of Deployments, by the Deployment's name."""
    found: dict[str, int] = {}
    for folder in folders:
        for one in resources(folder):
            if one["kind"] == "Deployment":
                (container,) = pod_of(one)["containers"]
                found[one["metadata"]["name"]] = _bytes(container["resources"]["limits"]["memory"])
        for patch in documents(folder / "kustomization.yaml")[0].get("patches", ()):
            for change in yaml.safe_load(patch.get("patch", "[]")):
                if change["path"] == LIMIT:
                    for name in filter(re.compile(patch["target"]["name"]).fullmatch, found):
                        found[name] = _bytes(change["value"])
    return found


def _bytes(quantity: str) -> int:
    return int(quantity[:-2]) << {"Mi": 20, "Gi": 30}[quantity[-2:]]
