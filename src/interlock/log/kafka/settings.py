"""What has to be known to reach a Kafka cluster, and every bound of the Kafka backend in one place.

A url says where the cluster is and how its topics begin: `kafka://host:port[,host:port]?prefix=interlock`. Any other
setting may follow in the query, except the password: a url ends up in logs and process lists.
"""

import ssl
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, model_validator

from interlock.log.port import PREFIX_PATTERN

SecurityProtocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
SaslMechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]

DEFAULT_PORT = 9092


class KafkaSettings(BaseModel):
    """How to reach the brokers, what to name topics, and how long to wait; frozen, and never shows its password."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    bootstrap: tuple[str, ...]
    """`host:port` of some brokers; the rest of the cluster is learned from whichever answers."""
    prefix: str = Field(default="interlock", pattern=PREFIX_PATTERN)
    """What the names of all topics and groups begin with; a restored log gets another one."""
    client_id: str = "interlock"
    """What brokers show in their logs and quotas."""

    security_protocol: SecurityProtocol = "PLAINTEXT"
    ca_file: Path | None = None
    """PEM file of the authorities that sign the brokers' certificates; the system's where None."""
    cert_file: Path | None = None
    """PEM file of this client's certificate, where brokers ask for one."""
    key_file: Path | None = None
    """PEM file of the certificate's private key; not needed where `cert_file` holds it."""
    key_password: SecretStr | None = None
    check_hostname: bool = True
    """Whether a broker's certificate must name the host that was dialled."""
    sasl_mechanism: SaslMechanism = "SCRAM-SHA-512"
    username: str | None = None
    password: SecretStr | None = None

    batch_bytes_max: int = Field(default=1 << 20, ge=1 << 14, le=64 << 20)
    """The largest batch, as `port.batch_bytes` counts. 1 MiB is 12 bytes less than what brokers take by default."""
    send_s: float = Field(default=5.0, gt=0)
    """After how many seconds a batch without an answer is in doubt."""
    connect_s: float = Field(default=2.0, gt=0)
    """How long a broker may take to accept a connection, TLS and SASL included."""
    ask_s: float = Field(default=5.0, gt=0)
    """How long `end`, metadata and admin questions are tried before the log counts as away."""
    fetch_wait_s: float = Field(default=2.0, gt=0)
    """How long a broker may hold a fetch that finds nothing. An append ends the wait, so this is not a latency."""
    fetch_bytes: int = Field(default=8 << 20, ge=1 << 16)
    """How much one fetch brings at most; a batch that is larger comes all the same."""
    session_s: float = Field(default=6.0, gt=0)
    """After how many seconds without a heartbeat the group gives a member's shards to others."""
    rebalance_s: float = Field(default=10.0, gt=0)
    """How long the group waits for a member to join again, before it goes on without it."""

    @model_validator(mode="after")
    def _complete(self) -> "KafkaSettings":
        if not self.bootstrap:
            raise ValueError("expected at least one bootstrap server as host:port, found none")
        for address in self.bootstrap:
            host_and_port(address)
        if self.uses_sasl and (self.username is None or self.password is None):
            raise ValueError(
                f"expected a username and a password for {self.security_protocol}, found "
                f"{'no username' if self.username is None else 'no password'}; set kafka_username and "
                "kafka_password (INTERLOCK_KAFKA_PASSWORD)"
            )
        if self.key_file is not None and self.cert_file is None:
            raise ValueError("expected a certificate for the private key, found none; set cert_file")
        return self

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether this client proves who it is with a username and a password."""
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    def ssl_context(self) -> ssl.SSLContext | None:
        """The TLS context for connections, or None without TLS. Reads the files; raises `OSError` where it can't."""
        if not self.uses_tls:
            return None
        context = ssl.create_default_context(cafile=None if self.ca_file is None else str(self.ca_file))
        context.check_hostname = self.check_hostname
        if self.cert_file is not None:
            password = None if self.key_password is None else self.key_password.get_secret_value()
            context.load_cert_chain(self.cert_file, self.key_file, password)
        return context

    @classmethod
    def from_url(cls, url: str, **settings: object) -> "KafkaSettings":
        """Settings from `kafka://host:port[,host:port]?prefix=…&…`; `settings` beat what the url says.

        Raises `ValueError` (pydantic's `ValidationError` is one) where the url or a setting can't be used.
        """
        parts = urlsplit(url)
        if parts.scheme != "kafka":
            raise ValueError(f"expected a url that begins with kafka://, found {parts.scheme or 'no scheme'}")
        userinfo, at, servers = parts.netloc.rpartition("@")
        if at and ":" in userinfo:
            raise ValueError(
                "expected no password in a Kafka url, found one; set kafka_password (INTERLOCK_KAFKA_PASSWORD)"
            )
        found: dict[str, object] = dict(parse_qsl(parts.query, keep_blank_values=True))
        if "password" in found or "key_password" in found:
            raise ValueError(
                "expected no password in a Kafka url, found one; set kafka_password (INTERLOCK_KAFKA_PASSWORD)"
            )
        if userinfo:
            found["username"] = userinfo
        found["bootstrap"] = tuple(each for each in servers.split(",") if each)
        return cls.model_validate(found | settings)


def host_and_port(address: str) -> tuple[str, int]:
    """Splits `host:port`, `[v6]:port` or `host`; raises `ValueError` for a port that is none."""
    host, colon, port = address.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = address, str(DEFAULT_PORT)
    if not port.isdigit() or not 0 < int(port) < 65536 or not host:
        raise ValueError(f"expected a broker as host:port, found {address!r}")
    return host.strip("[]"), int(port)
