"""Settings of the Kafka backend: urls, TLS and SASL, and that no password is ever shown."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from interlock.log.kafka import wire
from interlock.log.kafka.settings import KafkaSettings, host_and_port


def test_a_url_names_brokers_prefix_and_any_other_setting() -> None:
    settings = KafkaSettings.from_url("kafka://one:9092,two:9093?prefix=orders&send_s=2.5")
    assert settings.bootstrap == ("one:9092", "two:9093")
    assert settings.prefix == "orders"
    assert settings.send_s == 2.5
    assert KafkaSettings.from_url("kafka://one:9092?prefix=a", prefix="b").prefix == "b"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://one:9092", "kafka://"),
        ("kafka://", "bootstrap"),
        ("kafka://one:port", "host:port"),
        ("kafka://one:9092?sendd_s=1", "sendd_s"),
        ("kafka://one:9092?send_s=0", "send_s"),
        ("kafka://me:secret@one:9092", "password"),
        ("kafka://one:9092?password=secret", "password"),
        ("kafka://one:9092?security_protocol=SASL_SSL", "username"),
        ("kafka://me@one:9092?security_protocol=SASL_SSL", "no password"),
        ("kafka://one:9092?key_file=/k", "cert_file"),
    ],
)
def test_a_url_that_can_not_be_meant_is_refused_with_what_was_found(url: str, found: str) -> None:
    with pytest.raises(ValueError, match=found) as refused:
        KafkaSettings.from_url(url)
    assert "secret" not in str(refused.value)


def test_brokers_are_host_and_port() -> None:
    assert host_and_port("one") == ("one", 9092)
    assert host_and_port("[::1]:19092") == ("::1", 19092)
    assert host_and_port("[::1]") == ("::1", 9092)


def test_a_password_is_never_shown() -> None:
    settings = KafkaSettings.from_url("kafka://me@one?security_protocol=SASL_PLAINTEXT", password="swordfish")
    assert "swordfish" not in repr(settings) + str(settings) + settings.model_dump_json()
    with pytest.raises(ValueError, match="no username") as refused:
        KafkaSettings.from_url("kafka://one?security_protocol=SASL_PLAINTEXT", password="swordfish")
    assert "swordfish" not in str(refused.value)


async def test_tls_and_sasl_reach_the_connection(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Proves: LOG-02 (a cluster that asks for TLS and a password can be used)."""
    given: dict[str, Any] = {}

    async def create_conn(host: str, port: int, **settings: Any) -> object:
        given.update(settings, host=host, port=port)
        return object()

    monkeypatch.setattr("aiokafka.conn.create_conn", create_conn)
    settings = KafkaSettings.from_url(
        "kafka://me@one:9094?security_protocol=SASL_SSL&sasl_mechanism=SCRAM-SHA-256&client_id=shop",
        password="swordfish",
    )
    await wire.open_connection("one", 9094, settings, settings.ssl_context())
    assert (given["host"], given["port"], given["client_id"]) == ("one", 9094, "shop")
    assert (given["security_protocol"], given["sasl_mechanism"]) == ("SASL_SSL", "SCRAM-SHA-256")
    assert (given["sasl_plain_username"], given["sasl_plain_password"]) == ("me", "swordfish")
    assert isinstance(given["ssl_context"], ssl.SSLContext)
    assert given["ssl_context"].verify_mode is ssl.CERT_REQUIRED
    assert given["ssl_context"].check_hostname


def test_a_missing_certificate_file_is_told_before_anything_is_connected(tmp_path: Path) -> None:
    settings = KafkaSettings.from_url(f"kafka://one?security_protocol=SSL&ca_file={tmp_path}/none.pem")
    with pytest.raises(OSError, match="No such file"):
        settings.ssl_context()


def test_without_tls_there_is_no_context() -> None:
    assert KafkaSettings.from_url("kafka://one").ssl_context() is None
