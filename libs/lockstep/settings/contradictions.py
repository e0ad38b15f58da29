"""Pairs of settings of which each value is possible and both together are not: a rule per pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lockstep.settings.models import Settings

Key = tuple[str, str]
"""Section and key."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`times` the first must not be over the second (`strictly`: nor equal), or `why`."""

    first: Key
    second: Key
    why: str
    times: int = 1
    strictly: bool = False
    applies: Callable[[Settings], bool] = lambda _: True


RULES: Final = (
    Rule(("leader", "renew_ms"), ("leader", "lease_ttl_ms"), "one renewal may be lost", times=2),
    Rule(
        ("leader", "retry_ms"),
        ("leader", "lease_ttl_ms"),
        "a standby would overlook a whole life of the lease",
    ),
    Rule(
        ("leader", "grace_ms"),
        ("leader", "lease_ttl_ms"),
        "a lease would run out before anybody acts on its holder's death",
    ),
    Rule(
        ("leader", "renew_ms"),
        ("processor", "isolation_timeout_ms"),
        "a leader would take itself for cut off between two renewals",
        strictly=True,
    ),
    Rule(
        ("bus", "max_message_bytes"),
        ("bus", "max_log_bytes"),
        "a log must hold a message at least",
    ),
    Rule(
        ("bus", "max_message_bytes"),
        ("bus", "dead_letters_max_bytes"),
        "the error store must hold a message at least",
    ),
    Rule(
        ("receiver", "dedup_window_ms"),
        ("bus", "max_log_age_ms"),
        "a log knows no ids of records that it has forgotten",
    ),
    Rule(
        ("processor", "snapshot_interval_ms"),
        ("bus", "max_log_age_ms"),
        "the log must reach back to a revision, also when one could not be taken",
        times=2,
    ),
    Rule(
        ("processor", "standby_gather_ms"),
        ("processor", "ready_lag_ms"),
        "a standby that keeps up would not count as ready",
        strictly=True,
    ),
    Rule(
        ("spark", "executor_cores"),
        ("spark", "cluster_max_cores"),
        "no Spark executor would ever start",
        applies=lambda settings: not settings.spark.master.startswith("local"),
    ),
    Rule(
        ("rights", "refresh_ms"),
        ("rights", "stale_max_ms"),
        "users would count as unknown between two looks",
        strictly=True,
    ),
    Rule(
        ("oidc", "keys_refresh_ms"),
        ("oidc", "keys_stale_max_ms"),
        "keys would be too old between two looks",
        strictly=True,
    ),
    Rule(
        ("coordinator", "figures_every_ms"),
        ("coordinator", "figures_coarse_every_ms"),
        "a coarse figure is made of samples",
    ),
    Rule(
        ("coordinator", "figures_coarse_every_ms"),
        ("coordinator", "figures_keep_ms"),
        "samples must be there until coarse figures are made of them",
        times=2,
    ),
    Rule(
        ("coordinator", "figures_keep_ms"),
        ("coordinator", "figures_coarse_keep_ms"),
        "coarse figures are for what is older than the samples",
    ),
    Rule(
        ("publisher", "retry_backoff_ms"),
        ("publisher", "retry_backoff_max_ms"),
        "the first pause is the shortest",
    ),
)


NEEDS: Final = (
    (
        ("server", "tls_key_file"),
        ("server", "tls_certificate_file"),
        "a key is of no use without its certificate",
    ),
    (
        ("server", "tls_client_ca_file"),
        ("server", "tls_certificate_file"),
        "only a door with TLS can ask its callers for certificates",
    ),
    (("receiver", "sources_tls"), ("server", "tls_certificate_file"), "servers show a certificate"),
    (
        ("client", "tls_key_file"),
        ("client", "tls_certificate_file"),
        "a key is of no use without its certificate",
    ),
    (("cluster", "second_secret"), ("cluster", "secret"), "the first one signs"),
    (("cluster", "accept_unproven"), ("cluster", "secret"), "nothing is asked for without one"),
    (("oidc", "issuer"), ("oidc", "audience"), "tokens for others would be good here"),
    (("oidc", "audience"), ("oidc", "issuer"), "whose tokens?"),
    (("oidc", "client_id"), ("oidc", "issuer"), "whose client?"),
)
"""The first is of no use without the second, and why."""


def lacking(settings: Settings) -> Iterator[tuple[Key, Key, str]]:
    """The needs that are not met."""
    for first, second, why in NEEDS:
        if _given(settings, first) and not _given(settings, second):
            yield first, second, why


def contradictions(settings: Settings) -> Iterator[tuple[Rule, int, int]]:
    """The rules that are broken, with both values."""
    for rule in RULES:
        first, second = _value(settings, rule.first), _value(settings, rule.second)
        over = first * rule.times > second or (rule.strictly and first * rule.times == second)
        if over and rule.applies(settings):
            yield rule, first, second


def _value(settings: Settings, key: Key) -> int:
    return int(_given(settings, key))


def _given(settings: Settings, key: Key) -> Any:
    return getattr(getattr(settings, key[0]), key[1])
