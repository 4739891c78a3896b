"""docker-compose.yml, read as data: every role is there, and told the truth; by Docker too, where it is."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import pytest
import yaml

from interlock.log.kafka.settings import KafkaSettings, host_and_port
from interlock.runtime.roles import ROLES
from interlock.runtime.settings import Settings
from ops.kafka.source import IMAGE
from tests.architecture.test_docs import parse_command

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docker-compose.yml"

Service = dict[str, object]


@pytest.fixture(scope="module")
def services() -> dict[str, Service]:
    """The services by name, with what they share filled in."""
    return cast("dict[str, dict[str, Service]]", yaml.safe_load(FILE.read_text("utf-8")))["services"]


def environment(service: Service) -> dict[str, str]:
    """What a service is told."""
    return cast("dict[str, str]", service.get("environment", {}))


def command(service: Service) -> list[str]:
    """What a service runs."""
    return cast("list[str]", service.get("command", []))


def engines(services: dict[str, Service]) -> dict[str, Service]:
    """The services that are processes of the engine."""
    return {name: service for name, service in services.items() if command(service)[:1] == ["serve"]}


def test_every_role_is_a_process_of_its_own(services: dict[str, Service]) -> None:
    served = [role for service in engines(services).values() for role in command(service)[1:] if role in ROLES]
    assert sorted(served) == sorted(ROLES)
    assert len(engines(services)) == len(ROLES)


def test_commands_are_commands_of_the_program(services: dict[str, Service]) -> None:
    for service in services.values():
        parse_command(command(service))


def test_runs_are_served_with_the_code_of_the_example(services: dict[str, Service]) -> None:
    words = command(services["executions"])
    assert words[words.index("--app") + 1] == "examples.orders"


def test_settings_that_are_given_exist_and_are_taken(
    services: dict[str, Service], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for service in [*engines(services).values(), services["topics"]]:
        given = environment(service)
        assert {name.removeprefix("INTERLOCK_").lower() for name in given} <= Settings.model_fields.keys()
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        settings = Settings()
        assert KafkaSettings.from_url(settings.log_url).bootstrap == ("kafka:9190",)


def test_every_role_sees_the_same_blobs(services: dict[str, Service]) -> None:
    """Proves: LOG-05"""
    for name, service in engines(services).items():
        volumes = cast("list[str]", service.get("volumes", []))
        assert f"blobs:{environment(service)['INTERLOCK_BLOBS']}" in volumes, name


def test_the_address_of_the_log_is_one_that_the_broker_advertises(services: dict[str, Service]) -> None:
    advertised = environment(services["kafka"])["KAFKA_ADVERTISED_LISTENERS"].split(",")
    addresses = {listener.split("://")[1] for listener in advertised}
    for service in engines(services).values():
        assert urlsplit(environment(service)["INTERLOCK_LOG"]).netloc in addresses


def test_what_clients_on_this_machine_are_told_is_what_is_open(services: dict[str, Service]) -> None:
    broker = services["kafka"]
    advertised = environment(broker)["KAFKA_ADVERTISED_LISTENERS"].split(",")
    (outside,) = (one.split("://")[1] for one in advertised if one.startswith("CLIENT://"))
    host, port = host_and_port(outside)
    assert f"{host}:{port}:{port}" in cast("list[str]", broker["ports"])


def test_images_are_named_exactly(services: dict[str, Service]) -> None:
    images = [cast("str", service["image"]) for service in services.values()]
    dockerfile = (ROOT / "ops" / "compose" / "Dockerfile").read_text("utf-8")
    images += re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert [image for image in images if image.endswith(":latest") or ":" not in image] == []
    assert services["kafka"]["image"] == IMAGE


def test_processes_start_when_the_topics_are_made_and_those_when_the_broker_answers(
    services: dict[str, Service],
) -> None:
    for service in engines(services).values():
        assert service["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}
    assert command(services["topics"]) == ["topics", "create"]
    assert services["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    assert "healthcheck" in services["kafka"]


def test_the_api_sees_what_the_projector_writes(services: dict[str, Service]) -> None:
    volumes = [cast("list[str]", services[name]["volumes"])[-1].split(":") for name in ("projector", "api")]
    assert volumes[0] == volumes[1]
    assert volumes[0][1] == environment(services["api"])["INTERLOCK_DATA"]


def test_processes_are_asked_whether_they_serve(services: dict[str, Service]) -> None:
    """A process without the API answers only where it is told a port."""
    for service in engines(services).values():
        assert command(service)[-2:] == ["--port", "8321"]
        asked = shlex.join(cast("dict[str, list[str]]", service["healthcheck"])["test"])
        port = urlsplit(environment(service)["INTERLOCK_API"]).port
        assert f"http://127.0.0.1:{port}/health/ready" in asked


def test_the_image_holds_what_the_program_needs() -> None:
    """What is copied exists, and is let into the build."""
    folder = ROOT / "ops" / "compose"
    lines = re.findall(r"^COPY (.+) \S+$", (folder / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    copied = [name for line in lines for name in line.split()]
    assert {"domain", "projections", "processors", "schemas", "src", "examples", "requirements.lock"} <= set(copied)
    assert [name for name in copied if not (ROOT / name).exists()] == []
    let_in = {
        line[1:] for line in (folder / "Dockerfile.dockerignore").read_text("utf-8").splitlines() if line[:1] == "!"
    }
    assert set(copied) <= let_in


def test_docker_compose_takes_the_file() -> None:
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("expected Docker with its compose plugin, found none; the other tests read the file without it")
    asked = subprocess.run(
        [docker, "compose", "--file", str(FILE), "config", "--quiet"], capture_output=True, text=True, check=False
    )
    assert asked.returncode == 0, asked.stderr
