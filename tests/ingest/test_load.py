"""A batch: each file once by content, columns by name, each record raw or rejected with a cause."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import ConfigError, DataGateError, InputMissingError
from pipelines.ingest import load
from pipelines.ingest.ledger import known_files, last_batch

if TYPE_CHECKING:
    from conftest import Delivery

pytestmark = pytest.mark.spark


def test_columns_are_found_by_name_and_bad_files_are_set_aside(delivery: Delivery) -> None:
    good = {
        "a.csv": "id,name\n1,one\n",
        "b.csv": "name,id\ntwo,2\n",
        "c bom.csv": b"\xef\xbb\xbfid,name\n3,three\n",
        "d.csv": "id,name,gate\n4,four,B7\n",
        "e.csv.gz": gzip.compress(b"id,name\n5,five\n"),
        "f.csv": "id\n6\n",
        "g.csv": "id,name\n",
        "h[1] 100% é.csv": "id,name\n7,seven\n",
    }
    bad = {
        "p.csv": ("id,Name,name,id\n8,a,b,9\n", "2 columns of its header have the name Name"),
        "q.csv": ("name\nx\n", "column id is missing; its header has name"),
        "r.csv": (b"", "empty file"),
        "s.csv": (gzip.compress(b"id,name\n9,nine\n"), "holds gzip data, not csv"),
        "t.csv": ("id,_record\n9,1\n", "the column name _record of its header is reserved"),
    }
    for name, content in good.items():
        delivery.put(name, content)
    for name, (content, _) in bad.items():
        delivery.put(name, content)
    done = delivery.declare(extra_column="rescue").ingest()
    assert (done.read, done.raw, done.rejected, done.batch) == (7, 7, 0, 1)
    assert done.set_aside == {f"data/{name}": cause for name, (_, cause) in bad.items()}
    rows = delivery.raw("id", "name", "_file", "_record", "_rescued")
    assert rows == [
        (1, "one", "data/a.csv", 0, None),
        (2, "two", "data/b.csv", 0, None),
        (3, "three", "data/c bom.csv", 0, None),
        (4, "four", "data/d.csv", 0, {"gate": "B7"}),
        (5, "five", "data/e.csv.gz", 0, None),
        (6, None, "data/f.csv", 0, None),
        (7, "seven", "data/h[1] 100% é.csv", 0, None),
    ]
    ledger = known_files(delivery.lake, "things", delivery.definition)
    assert {row.path: row.cause for row in ledger if row.status == "set_aside"} == done.set_aside
    assert sum(row.loaded for row in ledger) == 7
    again = delivery.ingest()
    assert (again.read, again.batch) == (0, 1)


def test_quotes_follow_rfc_4180_and_bad_records_say_where_they_stand(delivery: Delivery) -> None:
    delivery = delivery.declare(schema={"id": "int!", "name": "string", "zip": "string"})
    delivery.put(
        "a.csv",
        "id,name,zip\n"
        '1,"he said ""hi"", ok",00501\n'
        '2,"C:\\dir\\",2147483648\n'
        '3,"two\nlines",NA\n'
        'abc,"bad",1\n'
        "2147483648,big,1\n"
        ",none,1\n"
        "7,cut\n"
        "8,extra,1,2\n"
        '9,"NULL",""\n',
    )
    done = delivery.ingest()
    assert delivery.raw("id", "name", "zip", "_record") == [
        (1, 'he said "hi", ok', "00501", 0),
        (2, "C:\\dir\\", "2147483648", 1),
        (3, "two\nlines", None, 2),
        (9, "NULL", None, 8),
    ]
    assert delivery.rejected() == [
        ("data/a.csv", 3, "bad_value", "id", "abc"),
        ("data/a.csv", 4, "bad_value", "id", "2147483648"),
        ("data/a.csv", 5, "null_value", "id", None),
        ("data/a.csv", 6, "cut_row", None, None),
        ("data/a.csv", 7, "cut_row", None, None),
    ]
    assert delivery.rejected("text")[3] == ("7,cut",)
    assert (done.read, done.raw, done.rejected) == (9, 4, 5)
    assert done.reasons == {"bad_value": 2, "null_value": 1, "cut_row": 2}


def test_contents_count_not_names(delivery: Delivery) -> None:
    delivery.put("a.csv", "id,name\n1,one\n")
    delivery.put("b.csv", "id,name\n1,one\n")
    done = delivery.ingest()
    assert (done.raw, done.repeated) == (1, ("data/b.csv",))
    delivery.put("a.csv", "id,name\n2,two\n")  # replaced under the same name
    assert delivery.ingest().raw == 1
    assert delivery.raw("id", "_file", "_batch") == [(1, "data/a.csv", 1), (2, "data/a.csv", 2)]
    delivery.put("c.csv", "id,name\n1,one\n")
    assert delivery.ingest().read == 0


def test_a_killed_batch_leaves_no_doubles(
    delivery: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise KeyboardInterrupt

    delivery.put("a.csv", "id,name\n1,one\nx,bad\n")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(load, "write_ledger", die)
        delivery.ingest()
    assert last_batch(delivery.lake, "things", delivery.definition) == 0
    delivery.put("a.csv", "id,name\n1,one\n")  # mended meanwhile
    assert delivery.ingest().raw == 1
    assert (delivery.raw(), delivery.rejected()) == ([(1, "one")], [])
    delivery.put("b.csv", "id,name\n2,two\n")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(load, "write_ledger", die)
        delivery.ingest()
    delivery.put("c.csv", "id,name\n3,three\n")
    assert (delivery.ingest().raw, delivery.ingest().read) == (2, 0)
    assert delivery.raw("id", "_batch") == [(1, 1), (2, 2), (3, 2)]


def test_another_definition_loads_everything_anew_and_back(delivery: Delivery) -> None:
    other = delivery.declare(nulls=["one"])
    other = type(other)(other.home, other.lake, other.section, "b" * 64)
    delivery.put("a.csv", "id,name\n1,one\n")
    delivery.ingest()
    delivery.put("b.csv", "id,name\n2,two\n")
    delivery.ingest()
    assert (other.ingest().raw, other.raw()) == (2, [(1, None), (2, "two")])
    assert (other.ingest().read, delivery.ingest().raw) == (0, 2)
    assert delivery.raw("id", "name", "_batch") == [(1, "one", 4), (2, "two", 4)]
    ledger = known_files(delivery.lake, "things", delivery.definition)
    assert sorted((row.path, row.loaded, row.batch) for row in ledger) == [
        ("data/a.csv", 1, 4),
        ("data/b.csv", 1, 4),
    ]


def test_encodings(delivery: Delivery) -> None:
    for encoding in ("ISO-8859-1", "UTF-16"):
        name = f"{encoding}.csv"
        delivery.put(name, "id,name\n1,año ñandú\n".encode(encoding))
        files = {"path": f"data/{name}", "format": "csv", "encoding": encoding}
        delivery.declare(files=files).ingest()
    assert delivery.raw() == [(1, "año ñandú"), (1, "año ñandú")]


def test_json_and_parquet(delivery: Delivery) -> None:
    delivery.put(
        "a.jsonl", '{"id": 1, "name": "one"}\n{"name": null, "id": "2"}\n{"id": 3\n{"id":"x"}\n'
    )
    files = {"path": "data/*.jsonl", "format": "json"}
    done = delivery.declare(files=files).ingest()
    assert (done.raw, delivery.raw()) == (2, [(1, "one"), (2, None)])
    assert [row[1:3] for row in delivery.rejected()] == [(2, "broken_record"), (3, "bad_value")]
    # The same column as int, as bigint and as text.
    for number, ids in enumerate(
        [pa.array([4], pa.int32()), pa.array([5, 2**31]), pa.array(["6"])]
    ):
        table = pa.table({"id": ids, "name": ["x"] * len(ids)})
        pq.write_table(table, delivery.home / "data" / f"{number}.parquet")
    files = {"path": "data/*.parquet", "format": "parquet"}
    done = delivery.declare(files=files).ingest()
    assert (done.raw, delivery.raw("id")[2:]) == (3, [(4,), (5,), (6,)])
    assert delivery.rejected("column", "value")[0] == ("id", "2147483648")


def test_odd_column_names(delivery: Delivery) -> None:
    declared = {"id": "int!", "a.b": "string", "é": "int", "select": "string"}
    delivery.put("a.csv", "select,é,a.b,id\ns,5,x,1\n")
    delivery.declare(schema=declared).ingest()
    assert delivery.raw("id", "a.b", "é", "select") == [(1, "x", 5, "s")]
    for name in ("sp ace", "_file", "a;b"):
        with pytest.raises(ConfigError, match="cannot be the name of a column") as caught:
            delivery.declare(schema={"id": "int!", name: "string"}).ingest()
        assert f"`{name}`" in caught.value.message
        assert caught.value.where == f"sources.things.schema.{name}"


def test_too_many_unreadable_records(delivery: Delivery) -> None:
    delivery.put("a.csv", "id,name\n1,one\n2,two\nx,three\n")
    with pytest.raises(DataGateError) as caught:
        delivery.declare(max_rejected="10%").ingest()
    assert caught.value.exit_code == 65
    assert "33.33% of records are unreadable (1 of 3); allowed: 10.00%" in caught.value.message
    assert "data/a.csv (bad_value: 1)" in caught.value.message
    assert not delivery.lake.exists("ops", "files")
    assert delivery.declare(max_rejected="50%").ingest().raw == 2


@pytest.mark.parametrize(
    ("content", "cause"),
    [("id,name\n", "no record"), ("", "empty file"), ("name\nx\n", "column id")],
)
def test_a_source_without_a_record(delivery: Delivery, content: str, cause: str) -> None:
    delivery.put("a.csv", content)
    with pytest.raises(InputMissingError) as caught:
        delivery.ingest()
    assert caught.value.exit_code == 66
    assert f"source things has no records (data/a.csv: {cause}" in caught.value.message
    assert not delivery.lake.exists("ops", "files")


def test_an_undeclared_column_may_be_a_mistake(delivery: Delivery) -> None:
    delivery.put("a.csv", "id,name\n1,one\n")
    delivery.put("b.csv", "id,name,gate\n2,two,B7\n")
    done = delivery.declare(extra_column="fail").ingest()
    told = "column gate is not declared and extra_column is fail"
    assert (done.raw, done.set_aside) == (1, {"data/b.csv": told})


def test_a_missing_source_says_which_path(delivery: Delivery, tmp_path: Path) -> None:
    with pytest.raises(InputMissingError, match="no file matches the source's path") as caught:
        delivery.ingest()
    assert (caught.value.exit_code, caught.value.where) == (66, "data/*")
    assert not (tmp_path / "lake").exists()


def test_a_file_without_a_key_column_is_set_aside(delivery: Delivery) -> None:
    delivery.put("a.csv", "id,name\n1,one\n")
    delivery.put("b.csv", "name\ntwo\n")
    done = delivery.declare(schema={"id": "int", "name": "string"}).ingest()
    told = "column id is missing; its header has name"
    assert (done.raw, done.set_aside) == (1, {"data/b.csv": told})
