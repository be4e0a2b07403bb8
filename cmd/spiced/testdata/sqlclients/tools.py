# Sessions of programs that are made on the drivers, or are drivers of other
# makers: the argument says which. PG* and FLIGHT in the environment say where
# the server is, and with which key.
import os
import sys
import warnings

HOST, PORT, KEY = os.environ["PGHOST"], os.environ["PGPORT"], os.environ["PGPASSWORD"]
URL = "postgresql://ann:%s@%s:%s/spice" % (KEY, HOST, PORT)


def say(name, value):
    print(name, repr(value))


def fails(name, f, *shown):
    """fails says which error f raises, and the parts of its text that are shown."""
    try:
        say(name + " did not fail", f())
    except Exception as e:
        say(name, (type(e).__name__, [part for part in shown if part in str(e)]))


def pg8000():
    import pg8000.dbapi

    conn = pg8000.dbapi.connect(user="ann", host=HOST, port=int(PORT), database="spice", password=KEY)
    conn.autocommit = True
    cur = conn.cursor()
    cur.execute("SELECT id, email, born FROM customers WHERE id = %s", (1,))
    say("select", cur.fetchall())
    cur.executemany("INSERT INTO customers VALUES (%s, %s, %s)", [(3, "c@x", None), (4, "d@x", None)])
    cur.execute("DELETE FROM customers WHERE id >= %s", (3,))
    say("deleted", cur.rowcount)
    fails("duplicate", lambda: cur.execute("INSERT INTO customers VALUES (1, 'other', NULL)"), "23505")
    cur.execute("INSERT INTO customers VALUES (%s, %s, NULL) ON CONFLICT (id) DO UPDATE SET email = excluded.email RETURNING id, customers.email", (5, "e@x"))
    say("returned", (cur.fetchall(), cur.rowcount))
    cur.execute("DELETE FROM customers WHERE id = 5")
    conn.close()


def sqlalchemy():
    import sqlalchemy as sa
    from sqlalchemy.dialects.postgresql import insert
    from sqlalchemy.orm import Session, declarative_base

    class Customer(declarative_base()):
        __tablename__ = "customers"
        id = sa.Column(sa.Integer, primary_key=True)
        email = sa.Column(sa.String)
        born = sa.Column(sa.Date)

    for driver in ("psycopg", "pg8000"):
        url = URL.replace("postgresql", "postgresql+" + driver)
        engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
        inspector = sa.inspect(engine)
        say("schemas", inspector.get_schema_names())
        for table in sorted(inspector.get_table_names()):
            say("columns of " + table, [(c["name"], str(c["type"]), c["nullable"], c["default"]) for c in inspector.get_columns(table)])
            say("primary key", inspector.get_pk_constraint(table)["constrained_columns"])
            say("unique", sorted(c["column_names"] for c in inspector.get_unique_constraints(table)))
            say("foreign keys", inspector.get_foreign_keys(table))
            if driver == "psycopg":  # pg8000 knows int2vector by its OID, and gets text
                say("indexes", sorted(c["name"] for c in inspector.get_indexes(table)))
        if driver == "psycopg":
            metadata = sa.MetaData()
            metadata.reflect(engine)
            say("reflected", sorted((t.name, [c.name for c in t.primary_key]) for t in metadata.tables.values()))
        with Session(engine) as s:
            found = s.scalars(sa.select(Customer).where(Customer.email.like("%x")).order_by(Customer.id))
            say("objects", [(c.id, c.email, c.born) for c in found])
            s.add_all([Customer(id=10, email="ten@x"), Customer(id=11, email="eleven@x")])
            s.commit()
            ten = s.get(Customer, 10)
            ten.email = "TEN"
            s.commit()
            say("changed", (ten.id, ten.email))
            s.delete(ten)
            s.delete(s.get(Customer, 11))
            s.commit()
            rows = [{"id": i, "email": "m%d" % i} for i in (12, 13, 14)]
            say("returned", s.execute(sa.insert(Customer).returning(Customer.id, Customer.email), rows).all())
            upsert = insert(Customer).values(id=12, email="again")
            upsert = upsert.on_conflict_do_update(index_elements=[Customer.id], set_={"email": upsert.excluded.email + "!"})
            say("upserted", s.execute(upsert.returning(Customer.email)).all())
            say("ignored", s.execute(insert(Customer).values(id=12, email="no").on_conflict_do_nothing()).rowcount)
            say("updated", s.scalars(sa.update(Customer).where(Customer.id == 13).values(email="u").returning(Customer)).one().email)
            say("deleted", sorted(s.scalars(sa.delete(Customer).where(Customer.id >= 12).returning(Customer.id))))


def orm():
    import psycopg
    import sqlalchemy as sa
    from sqlalchemy.orm import DeclarativeBase, Session, mapped_column, relationship

    class Base(DeclarativeBase):
        pass

    class Customer(Base):
        __tablename__ = "customers"
        id = mapped_column(sa.Integer, primary_key=True)
        email = mapped_column(sa.String)
        orders = relationship("Order", back_populates="customer")

    class Order(Base):
        __tablename__ = "orders"
        id = mapped_column(sa.BigInteger, sa.Identity(), primary_key=True)
        customer_id = mapped_column(sa.ForeignKey("customers.id"))
        amount = mapped_column(sa.Numeric(10, 2))
        note = mapped_column(sa.String, server_default="none")
        customer = relationship("Customer", back_populates="orders")

    engine = sa.create_engine(URL.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with Session(engine) as s:
        eve = Customer(id=5, email="eve@x")
        eve.orders = [Order(amount="1.10", note="a"), Order(amount="2.20")]
        s.add(eve)
        s.commit()
        say("inserted", sorted((o.id, str(o.amount), o.note) for o in eve.orders))
        eve.orders[0].amount *= 3
        eve.email = "EVE"
        s.commit()
        say("updated", (eve.email, sorted(str(o.amount) for o in eve.orders)))
        s.delete(eve.orders[0])
        s.commit()
        say("left", len(eve.orders))
        eve.orders.append(Order(amount=1))
        fails("twice", s.commit, "orders_customer_id_note_key")
        s.rollback()
        for o in list(eve.orders):
            s.delete(o)
        s.flush()
        s.delete(eve)
        s.commit()
        say("customers", s.scalar(sa.select(sa.func.count()).select_from(Customer)))
    with psycopg.connect(URL, autocommit=True) as c, c.cursor() as cur:
        cur.executemany("INSERT INTO orders (id, customer_id, amount, note) VALUES (%s, %s, %s, %s)", [(500 + i, 1, i, "n%d" % i) for i in range(3)])
        cur.execute("DELETE FROM orders WHERE id >= %s RETURNING id, amount", (500,))
        say("psycopg", cur.fetchall())


def pandas():
    import pandas as pd
    import sqlalchemy as sa

    engine = sa.create_engine(URL.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    frame = pd.DataFrame({"id": [20, 21], "email": ["a", "b"], "born": pd.to_datetime(["2024-01-01", None])})
    for method in (None, "multi"):
        frame.to_sql("customers", engine, if_exists="append", index=False, method=method)
        say("appended", pd.read_sql("SELECT * FROM customers WHERE id >= 20 ORDER BY id", engine).to_dict("records"))
        with engine.connect() as c:
            c.execute(sa.text("DELETE FROM customers WHERE id >= 20"))
    say("table", pd.read_sql_table("customers", engine).to_dict("records"))
    fails("replace", lambda: frame.to_sql("customers", engine, if_exists="replace"), "DROP statements are refused")


def polars():
    import polars as pl
    import sqlalchemy as sa

    engine = sa.create_engine(URL.replace("postgresql", "postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    query = "SELECT * FROM customers ORDER BY id"
    read = pl.read_database_uri(query, URL, engine="adbc")
    say("adbc", (read.schema, read.rows()))
    say("sqlalchemy", pl.read_database(query, engine).rows())
    one = pl.DataFrame({"id": [30], "email": ["p"], "born": [None]}, schema={"id": pl.Int32, "email": pl.String, "born": pl.Date})
    say("written", one.write_database("customers", engine, if_table_exists="append", engine="sqlalchemy"))
    with engine.connect() as c:
        say("deleted", c.execute(sa.text("DELETE FROM customers WHERE id >= 30")).rowcount)


def adbc():
    import adbc_driver_flightsql as flightsql
    import adbc_driver_flightsql.dbapi
    import adbc_driver_postgresql.dbapi
    import pyarrow

    header = {flightsql.DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer " + KEY}
    for name, mark, connect in (
        ("postgresql", "$1", lambda: adbc_driver_postgresql.dbapi.connect(URL, autocommit=True)),
        ("flightsql", "?", lambda: flightsql.dbapi.connect("grpc://" + os.environ["FLIGHT"], db_kwargs=header, autocommit=True)),
    ):
        with connect() as conn, conn.cursor() as cur:
            cur.execute("SELECT * FROM customers ORDER BY id")
            say(name, cur.fetch_arrow_table().to_pylist())
            cur.execute("SELECT email FROM customers WHERE id = " + mark, (1,))
            say("parameter", cur.fetchall())
            say("schema", [(f.name, str(f.type)) for f in conn.adbc_get_table_schema("customers")])
            schemas = conn.adbc_get_objects(depth="columns").read_all().to_pylist()[0]["catalog_db_schemas"]
            tables = {t["table_name"]: [c["column_name"] for c in t["table_columns"]] for s in schemas if s["db_schema_name"] == "public" for t in s["db_schema_tables"]}
            say("objects", sorted(tables.items()))
            marks = "?, ?, NULL" if mark == "?" else "$1, $2, NULL"
            cur.executemany("INSERT INTO customers VALUES (%s)" % marks, [(50, "f"), (51, "g")])
            cur.execute("INSERT INTO customers VALUES (%s) RETURNING id, email" % marks, (52, "h"))
            say("returned", cur.fetch_arrow_table().to_pylist())
            cur.execute("DELETE FROM customers WHERE id >= 50")
            say("deleted", cur.rowcount)
            table = pyarrow.table({"id": pyarrow.array([60], pyarrow.int32())})
            fails("ingest", lambda: cur.adbc_ingest("customers", table, mode="append"))


def pyarrow():
    import pyarrow.flight as flight

    client = flight.connect("grpc://" + os.environ["FLIGHT"])
    options = flight.FlightCallOptions(headers=[(b"authorization", b"Bearer " + KEY.encode())])
    info = client.get_flight_info(flight.FlightDescriptor.for_command(b"SELECT * FROM wares"), options)
    say("flight", client.do_get(info.endpoints[0].ticket, options).read_all().to_pylist())
    client.close()


def pgcli():
    """pgcli's own completion, definitions and backslash commands."""
    import logging

    from pgcli.pgexecute import PGExecute
    from pgspecial.main import PGSpecial

    logging.disable()
    ex, special = PGExecute("spice", "ann", KEY, HOST, PORT), PGSpecial()
    for what in ("search_path", "schemata", "tables", "table_columns", "views", "view_columns", "foreignkeys", "databases", "datatypes"):
        say(what, [row for row in getattr(ex, what)() if "spiced" not in row])
    say("functions", [(f.func_name, f.arg_names, f.arg_types, f.return_type) for f in ex.functions() if f.schema_name == "public"])
    say("function_definition", ex.function_definition("twice"))
    for command in (r"\l", r"\d", r"\d orders", r"\dt", r"\dv", r"\di", r"\dn", r"\df twice", r"\du", r"\sf twice", "SELECT twice(21)"):
        for _, rows, headers, status, *_ in ex.run(command, special):
            say(command, (headers, list(rows), status))
    fails("unknown table", lambda: list(ex.run("SELECT * FROM nosuch", special)), "nosuch")


warnings.simplefilter("ignore")
globals()[sys.argv[1]]()
