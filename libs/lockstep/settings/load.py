"""Reads the settings: defaults, then a file if one is given, then the environment.

The only reader of LOCKSTEP_* variables. What is wrong anywhere is reported together.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr, ValidationError

from lockstep.settings.contradictions import contradictions, lacking
from lockstep.settings.errors import Mistake, SettingsError
from lockstep.settings.models import Settings

PREFIX = "LOCKSTEP_"
SEPARATOR = "__"
FILE_SUFFIX = "_FILE"
FILE_VARIABLE = f"{PREFIX}SETTINGS_FILE"

Table = dict[str, dict[str, Any]]


def load_settings(
    environment: Mapping[str, str] | None = None, *, file: Path | None = None
) -> Settings:
    """The settings in force.

    `environment` is the process's own by default; `file` is a TOML file shaped like
    `defaults.toml`, by default the one named by LOCKSTEP_SETTINGS_FILE. Later sources win key by
    key. Raises SettingsError with every mistake.
    """
    variables = os.environ if environment is None else environment
    mistakes: list[Mistake] = []
    named = variables.get(FILE_VARIABLE)
    table = {section: dict(keys) for section, keys in _defaults().items()}
    origins: dict[tuple[str, str], str] = {}
    chosen = file if file is not None else (Path(named) if named else None)
    if chosen is not None:
        _merge_file(table, chosen, origins, mistakes)
    _merge_environment(table, variables, origins, mistakes)
    return _validated(table, origins, mistakes)


def environment_name(section: str, key: str) -> str:
    """The variable that sets `section.key`."""
    return f"{PREFIX}{section.upper()}{SEPARATOR}{key.upper()}"


@cache
def _defaults() -> Table:
    text = resources.files("lockstep.settings").joinpath("defaults.toml").read_text("utf-8")
    return tomllib.loads(text)


def _merge_file(
    table: Table, path: Path, origins: dict[tuple[str, str], str], mistakes: list[Mistake]
) -> None:
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        mistakes.append(Mistake(str(path), f"cannot be read: {error.strerror}"))
        return
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        mistakes.append(Mistake(str(path), f"is not TOML: {error}"))
        return
    for section, keys in read.items():
        if not isinstance(keys, dict):
            mistakes.append(_unknown(f"{path}: {section}", section, list(table), "section"))
            continue
        for key, value in keys.items():
            name = f"{path}: {section}.{key}"
            if _known(table, section, key, name, mistakes):
                table[section][key] = value
                origins[section, key] = name


def _merge_environment(
    table: Table,
    variables: Mapping[str, str],
    origins: dict[tuple[str, str], str],
    mistakes: list[Mistake],
) -> None:
    given_by_value: dict[tuple[str, str], str] = {}
    for name in sorted(variables):
        if not name.startswith(PREFIX) or name == FILE_VARIABLE:
            continue
        section, _, key = name.removeprefix(PREFIX).lower().partition(SEPARATOR)
        value: str | None = variables[name]
        if key.endswith(FILE_SUFFIX.lower()) and _is_secret(section, key[: -len(FILE_SUFFIX)]):
            key = key[: -len(FILE_SUFFIX)]
            value = _read_secret(name, Path(variables[name]), mistakes)
        if not _known(table, section, key, name, mistakes) or value is None:
            continue
        if (section, key) in given_by_value:
            other = given_by_value[section, key]
            mistakes.append(Mistake(name, f"{other} is set too", "give the secret one way only"))
        given_by_value[section, key] = name
        table[section][key] = value
        origins[section, key] = name


def _read_secret(name: str, path: Path, mistakes: list[Mistake]) -> str | None:
    try:
        secret = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        mistakes.append(Mistake(name, f"{path} cannot be read: {error}", "name a readable file"))
        return None
    if not secret:  # would switch off what asks for it: who names a file means to have a secret
        hint = "write the secret, or leave the variable out"
        mistakes.append(Mistake(name, f"{path} is empty", hint))
        return None
    return secret


def _is_secret(section: str, key: str) -> bool:
    model = Settings.model_fields.get(section)
    if model is None or not (
        isinstance(model.annotation, type) and issubclass(model.annotation, BaseModel)
    ):
        return False
    field = model.annotation.model_fields.get(key)
    return field is not None and field.annotation is SecretStr


def _known(table: Table, section: str, key: str, name: str, mistakes: list[Mistake]) -> bool:
    if section not in table:
        mistakes.append(_unknown(name, section, list(table), "section"))
        return False
    if key not in table[section]:
        mistakes.append(_unknown(name, key, list(table[section]), f"key of {section}"))
        return False
    return True


def _unknown(name: str, given: str, possible: list[str], what: str) -> Mistake:
    near = difflib.get_close_matches(given, possible, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(possible)}"
    return Mistake(name, f"no such {what}", hint)


def _validated(
    table: Table, origins: dict[tuple[str, str], str], mistakes: list[Mistake]
) -> Settings:
    settings: Settings | None = None
    try:
        settings = Settings.model_validate(table)
    except ValidationError as error:
        # Neither the input nor the URL of the explanation: the input may be a secret.
        for detail in error.errors(include_url=False, include_input=False):
            section, key = str(detail["loc"][0]), str(detail["loc"][-1])
            name = origins.get((section, key), environment_name(section, key))
            mistakes.append(Mistake(name, detail["msg"]))
    if settings is not None:
        mistakes.extend(_contradictions(settings, origins))
    if mistakes or settings is None:
        raise SettingsError(mistakes)
    return settings


def _contradictions(settings: Settings, origins: dict[tuple[str, str], str]) -> list[Mistake]:
    """Told under the name of the first, with that of the second."""

    def name(key: tuple[str, str]) -> str:
        return origins.get(key, environment_name(*key))

    found: list[Mistake] = []
    for rule, first, second in contradictions(settings):
        relation = "at least" if rule.strictly else "more than"
        of = {1: "", 2: "half of "}[rule.times]
        problem = f"{first} is {relation} {of}{name(rule.second)} ({second})"
        found.append(Mistake(name(rule.first), problem, rule.why))
    for first_key, second_key, why in lacking(settings):
        found.append(Mistake(name(first_key), f"needs {name(second_key)}, too", why))
    return found
