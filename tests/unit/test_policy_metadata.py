"""What a policy strips from public columns in memory: metadata of fields, at any depth and under any type."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from dpfast import Policy, PolicyError, RandomisedResponse, Stream

CANARY = "canary-a83c"
FIELD = pa.field("x", pa.string(), metadata={CANARY: CANARY})
BARE = pa.field("x", pa.string())
POLICY = Policy({"town": RandomisedResponse(["Bray", "Cork"], epsilon=1.0), "public": "public"})


def dictionary(field: pa.Field) -> pa.DataType:
    return pa.dictionary(pa.int8(), pa.struct([field]))


def column(kind: pa.DataType) -> pa.Array:
    """Three values of a type that holds `FIELD` somewhere, the second null or as good as that."""
    if pa.types.is_dictionary(kind):
        return pa.DictionaryArray.from_arrays(
            pa.array([0, None, 1], pa.int8()), pa.array([{"x": "a"}, {"x": "b"}], kind.value_type)
        )
    if pa.types.is_run_end_encoded(kind):
        return pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([{"x": "a"}, None], kind.value_type))
    if pa.types.is_union(kind):
        return union(kind)
    one: Any = {"x": "a"} if pa.types.is_struct(kind) else ["a", "b"]
    if pa.types.is_struct(kind) and kind.field(0).type != pa.string():
        one = {"y": ["a"]}
    return pa.array([one, None, one], kind)


def union(kind: pa.DataType) -> pa.Array:
    array = pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array(["a", None, "b"])], ["x"])

    class Given:  # an array cannot be made with a field of one's own
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
            return kind.__arrow_c_schema__(), array.__arrow_c_array__()[1]

    return pa.array(Given())


KINDS = {
    "struct": lambda field: pa.struct([field]),
    "list": pa.list_,
    "large list": pa.large_list,
    "fixed list": lambda field: pa.list_(field, 2),
    "list view": pa.list_view,
    "deep": lambda field: pa.struct([pa.field("y", pa.list_(field))]),
    "dictionary": dictionary,
    "run ends": lambda field: pa.run_end_encoded(pa.int32(), pa.struct([field])),
    "union": lambda field: pa.sparse_union([field]),
}


def written(schema: pa.Schema) -> bytes:
    data: bytes = schema.serialize().to_pybytes()
    return data


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_metadata_under_public_columns_is_stripped_in_memory(kind: str, chunked: bool) -> None:
    marked, bare = KINDS[kind](FIELD), KINDS[kind](BARE)
    columns = [pa.array(["Bray", "Cork", "Bray"]), column(marked)]
    schema = pa.schema([pa.field("town", pa.string()), pa.field("public", marked)])
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    table = pa.Table.from_batches([batch, batch.slice(1)]) if chunked else batch
    assert CANARY.encode() in written(table.schema)
    out = POLICY.sanitise(table, rng=Stream.insecure(1))
    expected = written(pa.schema([pa.field("", bare)]))
    for made in (out.schema.field("public").type, out.column("public").type):
        assert written(pa.schema([pa.field("", made)])) == expected
    if chunked:
        assert all(written(pa.schema([pa.field("", chunk.type)])) == expected for chunk in out.column("public").chunks)
    out.validate(full=True)
    assert out.column("public").to_pylist() == table.column("public").to_pylist()


def test_a_public_column_without_metadata_is_the_same_object_and_with_it_the_same_memory() -> None:
    plain = pa.array([["a"], None, ["b"]])
    marked = pa.array([["a"], None, ["b"]], pa.list_(FIELD))
    policy = Policy({"plain": "public", "marked": "public"})
    batch = pa.RecordBatch.from_arrays([plain, marked], names=["plain", "marked"])
    out = policy.sanitise(batch)
    for name in ("plain", "marked"):
        before, after = batch.column(name), out.column(name)
        assert [buffer and buffer.address for buffer in after.buffers()] == [
            buffer and buffer.address for buffer in before.buffers()
        ]


def test_an_empty_chunked_column_loses_its_metadata_too() -> None:
    table = pa.table({"town": pa.array([], pa.string()), "public": pa.chunked_array([], pa.list_(FIELD))})
    out = POLICY.sanitise(table)
    assert CANARY.encode() not in written(out.schema)
    assert out.column("public").type.value_field.metadata is None


@pytest.mark.parametrize("name", ["\ud800", "town\udfff"])
def test_a_name_that_is_no_unicode_text_is_refused(name: str) -> None:
    with pytest.raises(PolicyError, match="the name of a column is not valid Unicode text"):
        Policy({name: "public"})
