"""What the name of a lake means, and what is said of names that mean none; no Spark is started."""

import pytest

from analyzer.errors import AnalyzerError, StoreError
from analyzer.lake.location import is_lake, lake_of


def test_a_lake_is_told_from_a_file_by_the_word_before_its_path(tmp_path):
    """`delta:` makes a lake of a path; a file of any other name stays one."""
    assert is_lake(f"delta:{tmp_path}")
    assert not is_lake(f"{tmp_path}/delta.duckdb")
    assert lake_of(f"delta:{tmp_path}/fleet/").table("event_v1") == f"{tmp_path}/fleet/event_v1"


def test_an_address_of_an_object_store_stays_as_it_is():
    """Nothing of the working directory gets into it."""
    lake = lake_of("delta:s3://bucket/fleet/", "spark://head:7077")
    assert (lake.path, lake.master, lake.remote) == ("s3://bucket/fleet", "spark://head:7077", True)


@pytest.mark.parametrize("name", ["delta:", "delta:/", "delta:ftp://host/fleet"])
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
