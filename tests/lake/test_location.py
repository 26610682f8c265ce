"""What the name of a lake means, and what is said of names that mean none."""

import socket
import sys

import pytest

from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.location import lake_of


def test_a_lake_is_told_from_a_file_by_the_word_before_its_path(tmp_path):
    """`delta:` makes a lake of a path, with a folder for each table."""
    assert lake_of(f"delta:{tmp_path}/fleet/").table("event_v1") == f"{tmp_path}/fleet/event_v1"


@pytest.mark.parametrize("name", ["p%41", "q[1]", "{x}", "many*", "one?", "back\\slash"])
def test_a_path_that_means_another_one_is_refused(tmp_path, name):
    """Delta takes `%41` for `A`, so that its log would be in the folder of another lake; `100%` is like others."""
    with pytest.raises(AnalyzerError, match="means something else"):
        lake_of(f"delta:{tmp_path}/{name}")
    assert lake_of(f"delta:{tmp_path}/100%, it's ü #1").path.endswith("#1")


def test_an_address_of_an_object_store_stays_as_it_is():
    """Nothing of the working directory gets into it."""
    lake = lake_of("delta:s3://bucket/fleet/", "spark://head:7077")
    assert (lake.path, lake.master, lake.remote) == ("s3://bucket/fleet", "spark://head:7077", True)


def test_an_object_store_that_cannot_be_reached_says_why_in_one_line(monkeypatch):
    """Neither colours nor the addresses of code, and no more than fits a message."""
    deltalake = pytest.importorskip("deltalake", reason="the extra `lake` is not installed")
    text = "Generic S3 error\n   \x1b[31m↳\x1b[0m NoSuchBucket " + 400 * "x" + "\n   0: <unknown>\n"

    def refuse(*_: object) -> bool:
        raise OSError(text)

    monkeypatch.setattr(deltalake.DeltaTable, "is_deltatable", refuse)
    with pytest.raises(
        StoreError, match="s3://bucket/fleet cannot be reached: Generic S3 error NoSuchBucket x"
    ) as caught:
        lake_of("delta:s3://bucket/fleet").check()
    assert len(caught.value.message) < 400 and "<unknown>" not in caught.value.message


def test_connect_without_its_client_is_told_before_anything_is_asked(monkeypatch):
    """The hint installs it."""
    spark = pytest.importorskip("analyzer.lake.spark")
    pytest.importorskip("pyspark", reason="the extra `spark` is not installed")
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(StoreError, match="Spark Connect needs grpcio") as caught:
        spark.require(lake_of("delta:/lake/fleet", "sc://head:15002"))
    assert "pyspark[connect]" in caught.value.hint


@pytest.mark.parametrize("name", ["delta:", "delta:/", "delta:ftp://host/fleet", "delta:az://box/fleet"])
def test_a_name_without_a_lake_in_it_is_refused(name):
    """The hint says how a lake is named."""
    with pytest.raises(AnalyzerError) as caught:
        lake_of(name)
    assert caught.value.hint


def test_a_master_that_spark_does_not_know_is_refused():
    """The hint names those that it knows."""
    with pytest.raises(AnalyzerError, match="no master of Spark") as caught:
        lake_of("delta:/lake/fleet", "head:7077")
    assert "spark://" in caught.value.hint


def test_what_is_no_lake_is_said_to_be_none(tmp_path):
    """Nothing, a file, and a folder of something else are told apart."""
    (tmp_path / "file").write_text("x")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thing").write_text("x")
    for name, said in (("none", "no lake at"), ("file", "is a file"), ("other", "something else")):
        with pytest.raises(StoreError, match=said):
            lake_of(f"delta:{tmp_path}/{name}").check()


def test_a_master_that_does_not_answer_is_named_at_once():
    """Each of those that are named is tried; who listens is one, and is left to Spark."""
    spark = pytest.importorskip("analyzer.lake.spark")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        spark._reach(f"spark://127.0.0.1,127.0.0.1:{port}")
    with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port} \(Connection refused\), head \(without a port\)"):
        spark._reach(f"spark://127.0.0.1:{port},head")
    spark._reach("local[*]")
