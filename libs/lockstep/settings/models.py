"""The settings, typed and frozen: one model per section of `defaults.toml`, without defaults.

To add a setting: one line here, one line there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from lockstep.tls import TlsFiles

Count = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[int, Field(ge=1)]
Bytes = Annotated[int, Field(ge=1)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]*$", max_length=100)]
Port = Annotated[int, Field(ge=0, le=65_535)]
MemorySize = Annotated[str, Field(pattern=r"^\d+[kmgt]$")]
"""As Spark writes it."""


def _long_enough(secret: SecretStr) -> SecretStr:
    if 0 < len(secret.get_secret_value()) < MIN_SECRET_CHARACTERS:
        raise ValueError(f"a secret has {MIN_SECRET_CHARACTERS} characters or more")
    return secret


def _filled_in(url: str) -> str:
    if "$(" in url:
        raise ValueError(
            f"{url} names a variable that was not filled in: a pod knows those alone that stand"
            " before this one in its env"
        )
    return url


MIN_SECRET_CHARACTERS = 16
ClusterSecret = Annotated[SecretStr, AfterValidator(_long_enough)]
FilledUrl = Annotated[str, AfterValidator(_filled_in)]
_SIGNED = r" *(?:[RPE]S(?:256|384|512)|EdDSA) *"


class Section(BaseModel):
    """A frozen table; keys that it does not know are mistakes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ServerSettings(Section):
    """The HTTP door of every service."""

    host: str
    port: Port
    token: SecretStr
    drain_timeout_ms: Milliseconds
    allow_open_host: bool
    open_metrics: bool
    advertised_url: FilledUrl
    node: Label
    catalogue_poll_ms: Milliseconds
    tls_certificate_file: str
    tls_key_file: str
    tls_client_ca_file: str

    @property
    def tls(self) -> TlsFiles:
        """What the door shows, and whose certificates it wants to see."""
        return TlsFiles(self.tls_client_ca_file, self.tls_certificate_file, self.tls_key_file)


class BusSettings(Section):
    """Which carrier, where, and how much it may hold."""

    kind: Literal["nats", "kafka", "memory"]
    url: SecretStr
    connect_timeout_ms: Milliseconds
    tcp_user_timeout_ms: Milliseconds
    publish_timeout_ms: Milliseconds
    max_message_bytes: Annotated[int, Field(ge=16_384)]  # a record's frame and some events
    max_log_bytes: Bytes
    max_log_age_ms: Milliseconds
    max_pending_publishes: Count
    quiet_after_ms: Milliseconds
    read_ahead_bytes: Bytes
    readers_per_log: Count
    replicas: Annotated[int, Field(ge=1, le=5)]
    dead_letters_max_bytes: Bytes


class LeaderSettings(Section):
    """Where leases are kept and how long they live."""

    kind: Literal["redis", "memory"]
    url: SecretStr
    lease_ttl_ms: Milliseconds
    lease_ttl_max_ms: Milliseconds
    renew_ms: Milliseconds
    retry_ms: Milliseconds
    watch_ms: Milliseconds
    grace_ms: Milliseconds
    distrust_ms: Milliseconds


class StoreSettings(Section):
    """Where deployments, revisions and sink cursors are kept."""

    kind: Literal["postgres", "file", "memory"]
    postgres_dsn: SecretStr
    directory: Path
    pool_max_connections: Count
    statement_timeout_ms: Milliseconds


class ReceiverSettings(Section):
    """How much the door takes at once."""

    max_body_bytes: Bytes
    body_idle_ms: Milliseconds
    body_min_bytes_per_s: Bytes
    max_event_batch: Count
    max_inflight_bytes: Bytes
    max_inflight_requests: Count
    max_log_lag_positions: Count
    ingress_max_held_messages: Count
    ingress_max_held_bytes: Bytes
    retry_after_ms: Milliseconds
    dedup_window_ms: Milliseconds
    append_max_wait_ms: Milliseconds
    max_appends_abreast: Count
    service_timeout_ms: Milliseconds
    max_waiting_requests: Count
    kept_answers_bytes: Bytes
    sources_host: str
    sources_tls: bool


class DatasourcesSettings(Section):
    """Databases of others that apps read and write by name."""

    file: str
    max_rows: Count


class SecretsSettings(Section):
    """What apps refer to by `${secret:name}`."""

    folder: str


class ProcessorSettings(Section):
    """How the input log is cut, folded and remembered."""

    executor: Literal["spark", "reference"]
    slice_max_events: Count
    slice_max_bytes: Bytes
    shared_input_max_bytes: Bytes
    slice_target_ms: Milliseconds
    slice_slow_ms: Milliseconds
    standby_gather_ms: Milliseconds
    snapshot_interval_ms: Milliseconds
    revisions_to_keep: Count
    past_revision_interval_ms: Milliseconds
    past_revisions_to_keep: Count
    rebuild_max_bytes: Bytes
    state_max_rows: Count
    hold_back_max_outputs: Count
    standby: Literal["hot", "warm"]
    ready_lag_positions: Count
    ready_lag_ms: Milliseconds
    warm_ready_lag_positions: Count
    dedup_max_ids: Count
    isolation_timeout_ms: Milliseconds
    max_threads: Count
    host_label: Label
    zone: Label
    max_waiting_writes: Count
    write_timeout_ms: Milliseconds


class LimitsSettings(Section):
    """What one event may bring before it is set aside, and how many such events end an app."""

    event_rows: Count
    feedback_depth: Count
    function_steps: Count
    value_size: Annotated[int, Field(ge=65_536)]
    group_rows: Count
    function_bytes: Annotated[int, Field(ge=4 * 1024 * 1024)]
    stop_after: Count
    stop_within_positions: Count


class PlacesSettings(Section):
    """Files that know the places of IP addresses."""

    folder: str


class SparkSettings(Section):
    """The Spark session of a processor."""

    master: str
    driver_memory: MemorySize
    executor_memory: MemorySize
    executor_cores: Count
    cluster_max_cores: Count
    parallelism: Count
    workers: Count
    app_max_tasks: Annotated[int, Field(ge=0)]
    worker_memory: MemorySize
    state_directory: Path


class PublisherSettings(Section):
    """How deliveries are batched and tried again."""

    batch_max_rows: Count
    batch_target_ms: Milliseconds
    retry_max_attempts: Count
    retry_backoff_ms: Milliseconds
    retry_backoff_max_ms: Milliseconds
    keep_records: Count
    keep_bytes: Bytes
    trim_interval_ms: Milliseconds


class ArchiveSettings(Section):
    """Where what apps take in and give out is kept for good."""

    folder: str
    by_default: bool
    batch_bytes: Bytes
    interval_ms: Milliseconds
    upkeep_interval_ms: Milliseconds
    file_bytes: Bytes
    keep_replaced_ms: Milliseconds
    backtests_keep_ms: Milliseconds
    max_queries: Count
    query_rows: Count
    query_bytes: Annotated[int, Field(ge=1_048_576)]  # any error has to fit
    query_timeout_ms: Milliseconds
    query_memory_bytes: Annotated[int, Field(ge=1_073_741_824)]  # code and its heaps are mapped
    s3_endpoint: str
    s3_region: str
    s3_access_key: SecretStr
    s3_secret_key: SecretStr


class BatchSettings(Section):
    """Scheduled scripts: how many run, with how much, and what is kept of them."""

    look_ms: Milliseconds
    max_scripts: Count
    max_script_bytes: Bytes
    max_abreast: Count
    memory_bytes: Annotated[int, Field(ge=536_870_912)]
    driver_memory: MemorySize
    time_limit_ms: Milliseconds
    max_time_limit_ms: Milliseconds
    min_interval_ms: Milliseconds
    max_missed: Count
    retry_backoff_ms: Milliseconds
    retry_backoff_max_ms: Milliseconds
    runs_to_keep: Count
    versions_to_keep: Count
    log_lines: Count
    max_rows: Count
    max_bytes: Bytes
    parse_timeout_ms: Milliseconds


class PresenterSettings(Section):
    """How much a page can look back on, and how far a listener may lag."""

    history_rows: Count
    table_rows: Count
    sse_queue_events: Count
    max_listeners: Count
    send_limit_ms: Milliseconds
    grafana_max_body_bytes: Bytes
    grafana_max_targets: Count
    grafana_max_rows: Count


class CoordinatorSettings(Section):
    """How many replicas, and when a silent one counts as lost."""

    replicas: Count
    heartbeat_interval_ms: Milliseconds
    heartbeat_max_retry: Count
    min_processors: Count
    max_moves: Count
    rebalance_after_ms: Milliseconds
    rebalance_rest_ms: Milliseconds
    rebalance_gap_percent: Annotated[int, Field(ge=1, le=1_000)]
    rebalance_cpu_max_percent: Annotated[int, Field(ge=1, le=100)]
    versions_keep: Count
    sweep_interval_ms: Milliseconds
    figures_every_ms: Milliseconds
    figures_keep_ms: Milliseconds
    figures_coarse_every_ms: Milliseconds
    figures_coarse_keep_ms: Milliseconds
    figures_max_waiting_rows: Count
    figures_max_points: Count
    failovers_keep_ms: Milliseconds


class ClusterSettings(Section):
    """By what the processes of a cluster know each other."""

    secret: ClusterSecret
    second_secret: ClusterSecret
    proof_max_age_ms: Milliseconds
    accept_unproven: bool
    take_over: Annotated[str, Field(pattern=r"^([0-9a-f]{32})?$")]


class RightsSettings(Section):
    """Users, tokens and log-ins."""

    refresh_ms: Milliseconds
    stale_max_ms: Milliseconds
    max_accounts: Count
    session_ms: Milliseconds
    invitation_ms: Milliseconds
    token_max_ms: Milliseconds
    login_attempts: Count
    login_within_ms: Milliseconds
    audit_keep_ms: Milliseconds
    audit_max_waiting: Count
    password_kept_ms: Milliseconds


class OidcSettings(Section):
    """Whose tokens are taken beside Lockstep's own, and what they give."""

    issuer: str
    audience: str
    client_id: str
    client_secret: SecretStr
    scope: str
    ca_file: str
    algorithms: Annotated[str, Field(pattern=rf"^{_SIGNED}(,{_SIGNED})*$")]
    leeway_ms: Annotated[int, Field(ge=0, le=300_000)]
    user_claim: Annotated[str, Field(min_length=1)]
    roles_claim: Annotated[str, Field(min_length=1)]
    roles: str
    default_role: str
    max_token_bytes: Annotated[int, Field(ge=1, le=8_000)]  # a header holds no more
    timeout_ms: Milliseconds
    keys_refresh_ms: Milliseconds
    keys_again_ms: Milliseconds
    keys_stale_max_ms: Milliseconds


class ConsoleSettings(Section):
    """What people's texts may take on the console's machine."""

    max_workshops: Count
    workshop_memory_bytes: Annotated[int, Field(ge=268_435_456)]
    workshop_cpu_s: Count
    workshop_answer_ms: Milliseconds
    max_simulations: Count
    simulation_max_feeds: Count
    simulation_max_rate_per_s: Count
    simulation_max_rows: Count
    simulation_max_bytes: Count


class TelemetrySettings(Section):
    """What is logged and how, and what is traced."""

    log_level: Literal["debug", "info", "warning", "error"]
    log_format: Literal["json", "console"]
    log_tail_lines: Count
    log_tail_bytes: Bytes
    trace_ratio: Annotated[float, Field(ge=0, le=1)]
    otlp_url: str


class ClientSettings(Section):
    """Where the `lockstep` command finds a running suite, and how doors are called."""

    directory: Path
    url: str
    receiver_url: str
    presenter_url: str
    coordinator_url: str
    token: SecretStr
    tls_ca_file: str
    tls_certificate_file: str
    tls_key_file: str
    tls_server_name: str

    @property
    def tls(self) -> TlsFiles:
        """Whom this process trusts when it calls a door, and what it shows there."""
        return TlsFiles(
            self.tls_ca_file, self.tls_certificate_file, self.tls_key_file, self.tls_server_name
        )


class Settings(Section):
    """Everything that can be set; see `defaults.toml` for meanings and defaults."""

    server: ServerSettings
    bus: BusSettings
    leader: LeaderSettings
    store: StoreSettings
    receiver: ReceiverSettings
    datasources: DatasourcesSettings
    secrets: SecretsSettings
    processor: ProcessorSettings
    limits: LimitsSettings
    places: PlacesSettings
    spark: SparkSettings
    publisher: PublisherSettings
    archive: ArchiveSettings
    batch: BatchSettings
    presenter: PresenterSettings
    coordinator: CoordinatorSettings
    cluster: ClusterSettings
    rights: RightsSettings
    oidc: OidcSettings
    console: ConsoleSettings
    telemetry: TelemetrySettings
    client: ClientSettings
