"""Every setting and every bound of a process, with its unit. Flags beat the environment, and that beats
`interlock.toml` in the working directory."""

import json
from pathlib import Path
from typing import Annotated, Literal, cast
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from interlock.log.port import PREFIX_PATTERN

Count = Annotated[int, Field(ge=1, le=1024)]


class Settings(BaseSettings):
    """Settings of a process; each is also `INTERLOCK_<NAME>` in the environment and a key of `interlock.toml`."""

    model_config = SettingsConfigDict(
        env_prefix="INTERLOCK_", toml_file="interlock.toml", extra="forbid", frozen=True, validate_default=True
    )

    log: str = ""
    """The log's address: `sqlite:///path`, `kafka://host:port[,host:port]?prefix=interlock`, `memory:`. Empty takes a
    SQLite file in the data directory."""
    data: Path = Path("data")
    """Where views, locks and the embedded log are kept."""
    blobs: str = ""
    """Where values are kept that are too large for the log: a directory, or `s3://bucket/folder`, `gs://…`, `az://…`.
    All processes of an installation have to see the same. Empty takes the directory `blobs` beside the embedded log,
    or, on Kafka, in the data directory."""
    api: str = "http://127.0.0.1:8321"
    """Where the API listens, and where the CLI and the SDK find it."""
    app: Annotated[tuple[str, ...], NoDecode] = ()
    """Modules whose workflows' activities this process can run."""
    prefix: str = Field(default="interlock", pattern=PREFIX_PATTERN)
    """What the names of topics begin with: letters, digits, `.`, `_` and `-`; `?prefix=` in the log's address beats
    it."""
    routing_shards: Count = 4
    """Partitions of routing's journal and inbox; fixed when the topics are created."""
    executions_shards: Count = 4
    """Partitions of executions' journal and inbox; fixed when the topics are created."""
    stimuli_partitions: Count = 4
    """Partitions of the topic that users write stimuli to."""
    checkpoints: Literal["immediate", "coalesced"] = "immediate"
    """The cadence of workflows that don't name one (CHK-03)."""
    coalesce_wait_ms: int = Field(default=5, ge=0, le=1000)
    """How long a coalesced checkpoint waits for activities that are under way, in milliseconds."""
    stimulus_bytes_max: int = Field(default=8_388_608, ge=1024, le=16_777_216)
    """The largest stimulus that is taken, in bytes; a larger one becomes a dead letter. Each takes memory in the
    process that routes it for `dedup_horizon_s`."""
    output_bytes_max: int = Field(default=8_388_608, ge=1024, le=16_777_216)
    """The largest output of an activity, in bytes; a larger one faults the run. Each takes memory in the process
    that owns the run until it ends."""
    slot_policy: Literal["default", "explicit"] = "default"
    """What becomes of a publish that names no slot, where its workflow says nothing of it: it is for the slot
    `default`, or (`explicit`) it is refused. All processes have to agree."""
    prepare_ms: int = Field(default=30_000, ge=100)
    """How long a candidate waits for its projections before it fails."""
    test_reference_s: int = Field(default=86_400, ge=1)
    """How long further test runs may start from the reference of a test run, in seconds. Runs that started go on."""
    max_clock_skew_ms: int = Field(default=2_000, ge=0)
    """How far a process's clock may be from the log's; beyond it no shard is opened."""
    dedup_horizon_s: int = Field(default=86_400, ge=60)
    """How long stimuli and their ids are remembered, in seconds; each takes memory in the process that routes it."""
    session_timeout_ms: int = Field(default=6_000, ge=500)
    """After how long without a sign of life a process's shards go to others."""
    reconcile_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """How often the rows of the trigger index are compared with what the slots call for, in seconds: the view by the
    role `reconciler`, and what routing decides by in each process that routes."""
    backlog_max_s: float = Field(default=300.0, gt=0, allow_inf_nan=False)
    """How old the oldest record may be that a view hasn't taken in, or the oldest intent that isn't delivered, before
    the process whose it is says that it isn't ready, in seconds."""
    publish_wait_s: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """How long `publish` waits for "active" before it reports pending."""
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """Whether connections to brokers are encrypted (SSL), and whether this client proves who it is (SASL)."""
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    """How this client proves who it is, with SASL."""
    kafka_username: str = ""
    """Who this client is, with SASL."""
    kafka_password: SecretStr = SecretStr("")
    """The password that belongs to the user name; never part of the log's address."""
    kafka_ca_file: Path | None = None
    """The certificate authorities that brokers are checked against; the system's if empty."""
    kafka_cert_file: Path | None = None
    """This client's certificate (PEM), where brokers ask for one."""
    kafka_key_file: Path | None = None
    """The certificate's private key (PEM); not needed where the certificate's file holds it."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags (given as arguments), then the environment, then the file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @field_validator("app", mode="before")
    @classmethod
    def _app_of_text(cls, given: object) -> object:
        """A list in the environment: names with commas between, or a JSON list."""
        if not isinstance(given, str):
            return given
        if given.lstrip().startswith("["):
            try:
                return cast("object", json.loads(given))
            except ValueError as error:
                raise ValueError("expected modules with commas between them, or a JSON list of them") from error
        return tuple(name.strip() for name in given.split(",") if name.strip())

    @property
    def log_url(self) -> str:
        """The log's address, with the default filled in."""
        return self.log or f"sqlite:///{self.data / 'interlock.sqlite'}"

    @property
    def topics_prefix(self) -> str:
        """What the names of topics begin with, as the address or the setting says."""
        named = parse_qs(urlsplit(self.log_url).query).get("prefix")
        return named[0] if named else self.prefix
