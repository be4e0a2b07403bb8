"""Writes tables of Delta Lake and Iceberg with their own libraries, and prints what these read back.

    lake.py FUNCTION FOLDER
"""
import base64, binascii, datetime, decimal, json, os, struct, sys, uuid

import pyarrow as pa

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=datetime.timezone.utc)


def rows(first, last, **more):
    """A table of every type that both formats have; row 5 of each ten is NULL."""
    ids = range(first, last)
    def column(type, value):
        return pa.array([None if i % 10 == 5 else value(i) for i in ids], type)
    columns = {
        "id": pa.array(ids, pa.int64()),
        "part": column(pa.string(), lambda i: ["a", "b ü%/", "c=1"][i % 3]),
        "i": column(pa.int32(), lambda i: -i),
        "f": column(pa.float32(), lambda i: i / 2),
        "d": column(pa.float64(), lambda i: i / 3),
        "b": column(pa.bool_(), lambda i: i % 2 == 0),
        "s": column(pa.string(), lambda i: "☃" * (i % 3)),
        "bin": column(pa.binary(), lambda i: bytes([i % 256, 0])),
        "day": column(pa.date32(), lambda i: NOW.date() + datetime.timedelta(i)),
        "at": column(pa.timestamp("us", "UTC"), lambda i: NOW + datetime.timedelta(seconds=i)),
        "dec": column(pa.decimal128(20, 3), lambda i: decimal.Decimal(i) / 8),
        "list": column(pa.list_(pa.int64()), lambda i: [i, None]),
        "st": column(pa.struct([("x", pa.int64()), ("y", pa.string())]), lambda i: {"x": i, "y": str(i)}),
    }
    columns.update({k: pa.array([v(i) for i in ids]) for k, v in more.items()})
    return pa.table(columns)


def show(table):
    """Prints id, part and the sums and texts that a statement can compute, sorted."""
    out = []
    for r in sorted(table.to_pylist(), key=lambda r: r["id"]):
        out.append([
            r["id"], r["part"], r["i"], r["f"], r["d"], r["b"], r["s"], r["bin"].hex() if r["bin"] is not None else None,
            r["day"] and r["day"].isoformat(), r["at"] and int(r["at"].timestamp() * 1_000_000 + 0.5),
            r["dec"] if r["dec"] is None else str(r["dec"]), r["list"], r["st"], r.get("z"),
        ])
    json.dump(out, sys.stdout)


def options():
    if "AWS_ENDPOINT_URL" not in os.environ:
        return None
    return {"AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}


# Delta Lake

def delta(folder):
    """Partitions, a new column, a delete, a checkpoint, and a commit after it."""
    from deltalake import DeltaTable, write_deltalake
    write_deltalake(folder, rows(0, 50), partition_by=["part"], storage_options=options())
    write_deltalake(folder, rows(50, 70, z=float), mode="append", schema_mode="merge", storage_options=options())
    table = DeltaTable(folder, storage_options=options())
    table.delete("id = 7 OR part = 'a' AND id < 10")
    table.create_checkpoint()
    delta_append(folder)


def delta_append(folder):
    from deltalake import DeltaTable, write_deltalake
    table = DeltaTable(folder, storage_options=options())
    n = table.to_pyarrow_table().num_rows + 1000
    write_deltalake(folder, rows(n, n + 5, z=float), mode="append", storage_options=options())
    show(DeltaTable(folder, storage_options=options()).to_pyarrow_table())


def delta_large(folder):
    from deltalake import write_deltalake
    write_deltalake(folder, pa.table({"id": pa.array(range(2_000_000), pa.int64()), "text": ["x" * 20 + str(i % 1000) for i in range(2_000_000)]}))


def roaring(positions):
    """A 64-bit roaring bitmap in the portable format, of positions below 65536."""
    container = b"".join(struct.pack("<H", p) for p in positions)
    one = struct.pack("<II", 12346, 1) + struct.pack("<HH", 0, len(positions) - 1) + struct.pack("<I", 16) + container
    return struct.pack("<i", 1681511377) + struct.pack("<q", 1) + struct.pack("<I", 0) + one


def delta_vectors(folder):
    """Deletion vectors by the protocol, which deltalake does not write: of a file of its own, and inline."""
    import deltalake
    from deltalake import write_deltalake
    write_deltalake(folder, pa.table({"id": pa.array(range(10), pa.int64())}))
    write_deltalake(folder, pa.table({"id": pa.array(range(10, 20), pa.int64())}), mode="append")
    table = deltalake.DeltaTable(folder)
    table.alter.add_feature(deltalake.TableFeatures.DeletionVectors, True)
    adds = [json.loads(line)["add"] for v in (0, 1) for line in open(f"{folder}/_delta_log/{v:020}.json") if '"add"' in line]
    name, data = uuid.uuid4(), roaring([3, 5])
    with open(f"{folder}/deletion_vector_{name}.bin", "wb") as f:
        f.write(b"\x01" + struct.pack(">i", len(data)) + data + struct.pack(">I", binascii.crc32(data)))
    inline = roaring([0, 9])
    inline += b"\0" * (-len(inline) % 4)
    vectors = [
        {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": 1, "sizeInBytes": len(data), "cardinality": 2},
        {"storageType": "i", "pathOrInlineDv": z85(inline), "sizeInBytes": len(inline), "cardinality": 2},
    ]
    change(folder, [{"add": dict(a, deletionVector=v)} for a, v in zip(adds, vectors)] + [
        {"remove": {"path": a["path"], "deletionTimestamp": 0, "dataChange": True, "extendedFileMetadata": True, "partitionValues": {}, "size": a["size"]}} for a in adds])


def z85(data):
    letters = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    out = ""
    for (n,) in struct.iter_unpack(">I", data):
        out += "".join(letters[n // 85**k % 85] for k in (4, 3, 2, 1, 0))
    return out


def change(folder, actions):
    """Commits actions."""
    log = folder + "/_delta_log"
    last = max(int(n[:20]) for n in os.listdir(log) if n.endswith(".json"))
    with open(f"{log}/{last + 1:020}.json", "w") as f:
        f.write("".join(json.dumps(a) + "\n" for a in actions))


def delta_mapping(folder):
    """Names of columns by the protocol's column mapping, which deltalake does not write."""
    from deltalake import write_deltalake
    write_deltalake(folder, pa.table({"col-1": pa.array([1, 2], pa.int64()), "col-2": ["x", "y"]}))
    fields = [{"name": n, "type": t, "nullable": True, "metadata": {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": f"col-{i}"}}
              for i, n, t in ((1, "id", "long"), (2, "a name, renamed", "string"))]
    change(folder, [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {"metaData": {"id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps({"type": "struct", "fields": fields}),
                      "partitionColumns": [], "configuration": {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}}}])


def delta_hostile(folder):
    """A good table; the test adds to its log."""
    from deltalake import write_deltalake
    write_deltalake(folder, pa.table({"id": pa.array([1, 2], pa.int64())}))


# Iceberg

def catalog(folder):
    from pyiceberg.catalog.sql import SqlCatalog
    warehouse = folder.rsplit("/", 2)[0]
    state = os.environ.get("LAKE_STATE", warehouse)
    properties = {"uri": f"sqlite:///{state}/catalog.db", "warehouse": warehouse if "://" in warehouse else "file://" + warehouse}
    if "AWS_ENDPOINT_URL" in os.environ:
        properties["s3.endpoint"] = os.environ["AWS_ENDPOINT_URL"]
        properties["s3.access-key-id"] = os.environ["AWS_ACCESS_KEY_ID"]
        properties["s3.secret-access-key"] = os.environ["AWS_SECRET_ACCESS_KEY"]
        properties["s3.region"] = "us-east-1"
    name = ".".join(folder.rsplit("/", 2)[1:])
    return SqlCatalog("c", **properties), name


def iceberg(folder):
    """Partitions, deletes, a new and a renamed column."""
    from pyiceberg.types import DoubleType
    c, name = catalog(folder)
    c.create_namespace_if_not_exists(name.split(".")[0])
    first = rows(0, 50)
    table = c.create_table(name, schema=first.schema.set(1, pa.field("old", pa.string())))
    with table.update_spec() as spec:
        spec.add_identity("old")
    table.append(first.rename_columns(["id", "old"] + first.column_names[2:]))
    with table.update_schema() as schema:
        schema.add_column("z", DoubleType())
        schema.rename_column("old", "part")
    table.append(rows(50, 70, z=float))
    table.delete("id = 7 OR id = 8")
    iceberg_append(folder)


def iceberg_append(folder):
    c, name = catalog(folder)
    table = c.load_table(name)
    n = table.scan().to_arrow().num_rows + 1000
    table.append(rows(n, n + 5, z=float))
    show(table.scan().to_arrow())


def iceberg_outside(folder):
    """A table that has a file outside of its folder, next to it."""
    import pyarrow.parquet as pq
    c, name = catalog(folder)
    c.create_namespace_if_not_exists(name.split(".")[0])
    data = pa.table({"id": pa.array([1, 2], pa.int64())})
    table = c.create_table(name, schema=data.schema)
    table.append(data)
    other = folder.rsplit("/", 1)[0] + "/other.parquet"
    pq.write_table(pa.table({"id": pa.array([666666666666666666], pa.int64())}), other)
    table.add_files(["file://" + other])


# DuckLake

def ducklake_connect(catalog):
    """Attaches CATALOG,DATA as lake."""
    import duckdb
    catalog, data = catalog.split(",")
    db = duckdb.connect()
    for name in ("httpfs", "sqlite_scanner", "ducklake"):
        db.execute(f"LOAD '{os.environ['SPICED_TEST_EXTENSIONS']}/{name}.duckdb_extension'")
    if "AWS_ENDPOINT_URL" in os.environ:
        db.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', "
                   f"ENDPOINT '{os.environ['AWS_ENDPOINT_URL'].removeprefix('http://')}', URL_STYLE 'path', USE_SSL false)")
    db.execute(f"ATTACH 'ducklake:{catalog}' AS lake (DATA_PATH '{data}', DATA_INLINING_ROW_LIMIT 0)")
    return db


def ducklake(catalog):
    db = ducklake_connect(catalog)
    first, second = rows(0, 50), rows(50, 70, z=float)
    db.execute("CREATE TABLE lake.orders AS FROM first; ALTER TABLE lake.orders SET PARTITIONED BY (part)")
    db.execute("ALTER TABLE lake.orders ADD COLUMN z DOUBLE; INSERT INTO lake.orders FROM second; DELETE FROM lake.orders WHERE id IN (7, 8)")
    db.execute("CREATE SCHEMA lake.more; CREATE VIEW lake.more.v AS SELECT 42 AS x")
    show(db.execute("FROM lake.orders").to_arrow_table())


def ducklake_append(catalog):
    db = ducklake_connect(catalog)
    more = rows(2000, 2005, z=float)
    db.execute("INSERT INTO lake.orders FROM more")
    show(db.execute("FROM lake.orders").to_arrow_table())


def ducklake_more(catalog):
    db = ducklake_connect(catalog)
    db.execute("CREATE TABLE lake.late AS SELECT 7 AS x; DROP VIEW lake.more.v")


if __name__ == "__main__":
    globals()[sys.argv[1]](sys.argv[2])
    sys.stdout.flush()
    os._exit(0)  # the threads of pyarrow and deltalake for S3 can abort an interpreter that ends
