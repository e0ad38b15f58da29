"""Settings: where they come from, and that every mistake is told at once and by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from lockstep.settings import Settings, SettingsError, environment_name, load_settings


def _mistakes(environment: dict[str, str], *, file: Path | None = None) -> dict[str, str]:
    with pytest.raises(SettingsError) as caught:
        load_settings(environment, file=file)
    return {mistake.name: str(mistake) for mistake in caught.value.mistakes}


def test_defaults_alone_are_valid() -> None:
    """Nothing has to be set."""
    assert load_settings({}).bus.kind == "nats"


def test_environment_wins_over_file_over_defaults(tmp_path: Path) -> None:
    """Key by key, the nearest source counts."""
    file = tmp_path / "lockstep.toml"
    file.write_text('[server]\nhost = "0.0.0.0"\nport = 81\n')
    settings = load_settings({"LOCKSTEP_SERVER__PORT": "82"}, file=file)
    assert (settings.server.host, settings.server.port) == ("0.0.0.0", 82)
    assert settings.server.drain_timeout_ms == load_settings({}).server.drain_timeout_ms


def test_file_is_named_by_the_environment(tmp_path: Path) -> None:
    """LOCKSTEP_SETTINGS_FILE names the file."""
    file = tmp_path / "lockstep.toml"
    file.write_text("[presenter]\nhistory_rows = 7\n")
    settings = load_settings({"LOCKSTEP_SETTINGS_FILE": str(file)})
    assert settings.presenter.history_rows == 7


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    """Unknown names, wrong types and wrong values stand in one error, each as the user wrote it."""
    file = tmp_path / "lockstep.toml"
    file.write_text("[publisher]\nbatch_max_rows = 0\n[recever]\nx = 1\n")
    found = _mistakes(
        {
            "LOCKSTEP_SERVER__PROT": "1",
            "LOCKSTEP_SERVER__PORT": "many",
            "LOCKSTEP_BUS__KIND": "pigeon",
            "OTHER_PROGRAM": "is not ours",
        },
        file=file,
    )
    assert set(found) == {
        "LOCKSTEP_SERVER__PROT",
        "LOCKSTEP_SERVER__PORT",
        "LOCKSTEP_BUS__KIND",
        f"{file}: publisher.batch_max_rows",
        f"{file}: recever.x",
    }
    assert "did you mean port?" in found["LOCKSTEP_SERVER__PROT"]
    assert "did you mean receiver?" in found[f"{file}: recever.x"]
    assert "'nats', 'kafka' or 'memory'" in found["LOCKSTEP_BUS__KIND"]


@pytest.mark.parametrize(
    ("environment", "name", "told"),
    [
        ({"LEADER__RENEW_MS": "2000"}, "LEADER__RENEW_MS", "half of LOCKSTEP_LEADER__LEASE_TTL_MS"),
        ({"LEADER__RETRY_MS": "1001"}, "LEADER__RETRY_MS", "LOCKSTEP_LEADER__LEASE_TTL_MS (1000)"),
        (
            {"PROCESSOR__ISOLATION_TIMEOUT_MS": "250"},
            "LEADER__RENEW_MS",
            "250 is at least LOCKSTEP_PROCESSOR__ISOLATION_TIMEOUT_MS (250)",
        ),
        (
            {"BUS__MAX_LOG_BYTES": "999999"},
            "BUS__MAX_MESSAGE_BYTES",
            "1000000 is more than LOCKSTEP_BUS__MAX_LOG_BYTES (999999)",
        ),
        (
            {"BUS__DEAD_LETTERS_MAX_BYTES": "65536"},
            "BUS__MAX_MESSAGE_BYTES",
            "LOCKSTEP_BUS__DEAD_LETTERS_MAX_BYTES (65536)",
        ),
        (
            {"RECEIVER__DEDUP_WINDOW_MS": "604800001"},
            "RECEIVER__DEDUP_WINDOW_MS",
            "LOCKSTEP_BUS__MAX_LOG_AGE_MS",
        ),
        (
            {"BUS__MAX_LOG_AGE_MS": "400000", "PROCESSOR__SNAPSHOT_INTERVAL_MS": "200001"},
            "PROCESSOR__SNAPSHOT_INTERVAL_MS",
            "200001 is more than half of LOCKSTEP_BUS__MAX_LOG_AGE_MS (400000)",
        ),
        (
            {"PROCESSOR__STANDBY_GATHER_MS": "3000"},
            "PROCESSOR__STANDBY_GATHER_MS",
            "3000 is at least LOCKSTEP_PROCESSOR__READY_LAG_MS (3000)",
        ),
        (
            {"SPARK__MASTER": "spark://h:7077", "SPARK__EXECUTOR_CORES": "5"},
            "SPARK__EXECUTOR_CORES",
            "5 is more than LOCKSTEP_SPARK__CLUSTER_MAX_CORES (4)",
        ),
        (
            {"PUBLISHER__RETRY_BACKOFF_MS": "10001"},
            "PUBLISHER__RETRY_BACKOFF_MS",
            "LOCKSTEP_PUBLISHER__RETRY_BACKOFF_MAX_MS",
        ),
    ],
)
def test_contradictions(environment: dict[str, str], name: str, told: str) -> None:
    """Two values that exclude each other are told with both names, whichever was set."""
    found = _mistakes({f"LOCKSTEP_{key}": value for key, value in environment.items()})
    assert list(found) == [f"LOCKSTEP_{name}"]
    assert told in found[f"LOCKSTEP_{name}"]


def test_a_contradiction_names_settings_as_they_were_given(tmp_path: Path) -> None:
    """Those of a file by its path; all contradictions are told together."""
    file = tmp_path / "lockstep.toml"
    file.write_text("[leader]\nlease_ttl_ms = 400\n[bus]\nmax_log_bytes = 20000\n")
    found = _mistakes({"LOCKSTEP_LEADER__RENEW_MS": "300"}, file=file)
    assert f"{file}: leader.lease_ttl_ms (400)" in found["LOCKSTEP_LEADER__RENEW_MS"]
    assert f"{file}: bus.max_log_bytes (20000)" in found["LOCKSTEP_BUS__MAX_MESSAGE_BYTES"]


def test_values_that_just_go_together_are_taken() -> None:
    """A rule's limit itself is fine; cores of a cluster do not matter without one."""
    settings = load_settings(
        {
            "LOCKSTEP_LEADER__RENEW_MS": "500",
            "LOCKSTEP_BUS__MAX_LOG_BYTES": "1000000",
            "LOCKSTEP_PROCESSOR__STANDBY_GATHER_MS": "2999",
            "LOCKSTEP_SPARK__EXECUTOR_CORES": "5",
        }
    )
    assert settings.bus.max_log_bytes == settings.bus.max_message_bytes


def test_secret_from_a_file(tmp_path: Path) -> None:
    """A secret may stand in a file; the line's end is not part of it."""
    file = tmp_path / "token"
    file.write_text("s3cret\n")
    settings = load_settings({"LOCKSTEP_SERVER__TOKEN_FILE": str(file)})
    assert settings.server.token.get_secret_value() == "s3cret"
    assert "s3cret" not in repr(settings)


def test_secret_given_twice_or_unreadable(tmp_path: Path) -> None:
    """By value and by file at once is refused, so is a file that is not there."""
    file = tmp_path / "token"
    file.write_text("a")
    twice = {"LOCKSTEP_SERVER__TOKEN": "b", "LOCKSTEP_SERVER__TOKEN_FILE": str(file)}
    assert "is set too" in _mistakes(twice)["LOCKSTEP_SERVER__TOKEN_FILE"]
    missing = {"LOCKSTEP_SERVER__TOKEN_FILE": str(tmp_path / "none")}
    assert "cannot be read" in _mistakes(missing)["LOCKSTEP_SERVER__TOKEN_FILE"]


@pytest.mark.parametrize("blank", ["", " \n"])
@pytest.mark.parametrize("key", ["SERVER__TOKEN", "CLUSTER__SECRET", "OIDC__CLIENT_SECRET"])
def test_an_empty_file_is_no_secret(tmp_path: Path, key: str, blank: str) -> None:
    """It may not be written yet; nothing is switched off by that, as an empty value would."""
    file = tmp_path / "secret"
    file.write_text(blank)
    told = _mistakes({f"LOCKSTEP_{key}_FILE": str(file)})[f"LOCKSTEP_{key}_FILE"]
    assert f"{file} is empty" in told
    assert "write the secret, or leave the variable out" in told


def test_only_secrets_come_from_files(tmp_path: Path) -> None:
    """`_FILE` behind a key that is no secret is an unknown key."""
    assert (
        "no such key"
        in _mistakes({"LOCKSTEP_SERVER__PORT_FILE": "x"})["LOCKSTEP_SERVER__PORT_FILE"]
    )


def test_mistakes_do_not_tell_secrets() -> None:
    """An error about one setting never prints the value of a secret."""
    environment = {"LOCKSTEP_BUS__URL": "nats://u:hidden@h", "LOCKSTEP_SERVER__PORT": "x"}
    assert "hidden" not in str(_mistakes(environment))


def test_broken_file_is_a_mistake(tmp_path: Path) -> None:
    """A file that is not there or not TOML is told by its path."""
    file = tmp_path / "lockstep.toml"
    assert "cannot be read" in _mistakes({}, file=file)[str(file)]
    file.write_text("[server\n")
    assert "is not TOML" in _mistakes({}, file=file)[str(file)]


def test_an_address_with_a_variable_that_nobody_filled_in_is_refused() -> None:
    """A pod would announce it, and nobody would find anything behind it."""
    name = "LOCKSTEP_SERVER__ADVERTISED_URL"
    with pytest.raises(SettingsError) as refused:
        load_settings({name: "https://$(POD_IP):8080"})
    (mistake,) = refused.value.mistakes
    assert mistake.name == name
    assert "https://$(POD_IP):8080 names a variable that was not filled in" in mistake.problem
    assert load_settings({name: "https://10.0.0.7:8080"}).server.advertised_url


def test_frozen() -> None:
    """Nobody changes settings under way."""
    with pytest.raises(ValidationError):
        load_settings({}).server.port = 3


@pytest.mark.parametrize("section", list(Settings.model_fields))
def test_every_default_is_reachable_from_the_environment(section: str) -> None:
    """Each key of each section is set by the variable that `environment_name` tells."""
    plain = load_settings({})
    defaults = getattr(plain, section)
    for key in type(defaults).model_fields:
        value = getattr(defaults, key)
        text = value.get_secret_value() if hasattr(value, "get_secret_value") else str(value)
        assert load_settings({environment_name(section, key): text}) == plain
