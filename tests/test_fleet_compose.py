"""The Compose file of a fleet, read without a daemon: what it builds, mounts and starts is there; nothing is open."""

from __future__ import annotations

import re
from typing import Any

import yaml

from analyzer.cli import command_named
from analyzer.store.fleet.table import table_named
from tests import REPOSITORY

FOLDER = REPOSITORY / "contrib" / "fleet"
TEXT = (FOLDER / "compose.yaml").read_text("utf-8")
FILE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = FILE["services"]
PAGE = (REPOSITORY / "docs" / "how-to" / "fleet.md").read_text("utf-8")


def test_every_service_is_built_or_pulled_and_waits_for_one_that_is_there() -> None:
    """What is built has its Dockerfile in the folder that is given to it."""
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        if "build" in service:
            assert (FOLDER / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        else:
            assert service["image"].startswith("minio/")


def test_what_is_mounted_is_a_file_beside_it_a_variable_or_a_volume_of_its_own() -> None:
    """Settings and logs cannot be written from inside."""
    mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", ())]
    for mount in mounts:
        source = mount.split(":")[0]
        own = source in FILE["volumes"]
        assert own or source.startswith("${LOGS") or (FOLDER / source).is_file()
        assert own or mount.endswith(":ro")


def test_no_port_is_open_and_no_secret_stands_there() -> None:
    """Whoever starts it has to say who may write; without that nothing starts."""
    assert not [name for name, service in SERVICES.items() if "ports" in service]
    keys = [
        value
        for service in SERVICES.values()
        for key, value in service.get("environment", {}).items()
        if re.search("KEY|USER|PASSWORD", key)
    ]
    assert len(keys) == 10 and all(re.fullmatch(r"\$\{MINIO_(USER|PASSWORD):\?[a-z ]+\}", value) for value in keys)
    assert {f"{name}=" for name in re.findall(r"\$\{([A-Z_]+):\?", TEXT)} <= set(re.findall(r"\b[A-Z_]+=", PAGE))


def test_the_command_is_one_of_the_program_for_the_master_that_is_started() -> None:
    """And names a table in the bucket that is made; master and workers are classes of Spark."""
    name, *rest = SERVICES["analyzer"]["command"]
    command = command_named(name)
    given = command.make_context(name, rest).params
    assert table_named(given["to"]).path == "s3://fleet/events" and "lake/fleet" in SERVICES["bucket"]["command"][0]
    assert given["master"] == SERVICES["worker"]["command"][-1] == "spark://master:7077"
    for service in ("master", "worker"):
        path, main, *_ = SERVICES[service]["command"]
        assert main.startswith("org.apache.spark.deploy.") and path.endswith("/pyspark/bin/spark-class")


def test_the_image_has_what_the_dockerfile_of_the_nightly_job_has_and_spark() -> None:
    """Both copy what a build needs, and neither runs as root."""
    lines = (FOLDER / "Dockerfile").read_text("utf-8").splitlines()
    nightly = (REPOSITORY / "contrib" / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    copied = [
        line for line in nightly if line.startswith("COPY ") and "--from" not in line and "constraints" not in line
    ]
    assert set(copied) | {"COPY constraints-spark.txt ./", "USER 10001"} <= set(lines)
    settings = [line.split()[0] for line in (FOLDER / "spark-defaults.conf").read_text().splitlines()[1:]]
    assert settings == ["spark.driver.memory", "spark.executor.memory"]
