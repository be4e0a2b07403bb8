"""A client's transactions in its default mode: python transactions.py CLIENT. Each prints the same."""
import asyncio
import sys


def with_dbapi(driver):
    a, b = driver.connect(sslmode="disable"), driver.connect(sslmode="disable")
    cursor = a.cursor()

    def run(sql, *values):
        cursor.execute(sql, values or None)
        return cursor.fetchall() if cursor.description else cursor.rowcount

    def other():
        rows = b.cursor()
        rows.execute("SELECT count(*) FROM orders")
        n = rows.fetchone()[0]
        b.rollback()
        return n

    def state(error):
        return getattr(error, "sqlstate", None) or error.pgcode

    print(run("SELECT count(*) FROM orders"), run("INSERT INTO orders (id, name) VALUES (%s, %s)", 2, "two"))
    print(run("UPDATE orders SET name = upper(name) WHERE id = %s", 2), run("SELECT name FROM orders ORDER BY id"), other())
    a.rollback()
    print(run("SELECT count(*) FROM orders"), run("DELETE FROM orders WHERE id = 1"), run("SELECT count(*) FROM orders"))
    a.commit()
    print(other(), run("INSERT INTO orders (id) VALUES (3)"))
    for sql in ("INSERT INTO orders (id) VALUES (3)", "SELECT 1"):
        try:
            run(sql)
        except driver.Error as e:
            print(state(e))
    a.rollback()
    cursor.executemany("INSERT INTO orders (id, name) VALUES (%s, %s)", [(n, str(n)) for n in range(10, 13)])
    print(run("SELECT id, name FROM orders ORDER BY id"))
    a.commit()
    try:
        run("INSERT INTO orders (id) VALUES (20)")
        run("INSERT INTO stock (id) VALUES (1)")
    except driver.Error as e:
        print(state(e), str(e).splitlines()[0])
    a.rollback()
    run("INSERT INTO orders (id) VALUES (20)")
    b.cursor().execute("INSERT INTO orders (id) VALUES (20)")
    a.commit()
    try:
        b.commit()
    except driver.Error as e:
        print(state(e), str(e).splitlines()[0])
    run("INSERT INTO orders (id) VALUES (21)")
    a.close()
    print(other())


def with_sqlalchemy(_):
    from sqlalchemy import MetaData, Table, create_engine, func, select
    from sqlalchemy.exc import IntegrityError
    from sqlalchemy.orm import Session, registry

    engine = create_engine("postgresql+psycopg://?sslmode=disable")
    orders = Table("orders", MetaData(), autoload_with=engine)

    class Order:
        pass

    registry().map_imperatively(Order, orders, primary_key=[orders.c.id])
    with Session(engine) as s:
        s.add_all([Order(id=n, name=str(n)) for n in range(2, 5)])
        s.flush()
        s.query(Order).filter_by(id=2).update({"name": "two"})
        print(s.scalars(select(orders.c.name).order_by(orders.c.id)).all())
        s.rollback()
        print(s.scalar(select(func.count()).select_from(orders)))
        s.add(Order(id=5, name="five"))
        s.commit()
    with engine.begin() as connection:
        connection.execute(orders.delete().where(orders.c.id == 1))
        print(connection.execute(select(orders.c.name)).all())
    try:
        with Session(engine) as s, s.begin():
            s.add(Order(id=6, name="six"))
            s.flush()
            s.execute(orders.insert(), [{"id": 5}])
    except IntegrityError as e:
        print(type(e).__name__)
    with Session(engine) as s, s.begin():
        with s.begin_nested():
            s.add(Order(id=7, name="seven"))
        print(s.scalars(select(orders.c.name).order_by(orders.c.id)).all())


async def with_asyncpg(asyncpg):
    c = await asyncpg.connect(ssl=False)
    try:
        async with c.transaction():
            await c.execute("INSERT INTO orders (id, name) VALUES ($1, $2)", 2, "two")
            async with c.transaction():
                print(await c.fetchval("SELECT count(*) FROM orders"))
            raise KeyError
    except KeyError:
        print(await c.fetchval("SELECT count(*) FROM orders"))
    async with c.transaction():
        await c.copy_records_to_table("orders", records=[(3, "three"), (4, "four")], columns=["id", "name"])
        await c.executemany("INSERT INTO orders (id, name) VALUES ($1, $2)", [(5, "five"), (6, "six")])
    print([r["name"] for r in await c.fetch("SELECT name FROM orders ORDER BY id")])
    await c.close()


def with_adbc(_):
    import os

    import adbc_driver_flightsql as flightsql
    import adbc_driver_flightsql.dbapi

    key = {flightsql.DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer " + os.environ["PGPASSWORD"]}

    def connect():
        return flightsql.dbapi.connect("grpc://" + os.environ["FLIGHT"], db_kwargs=key)

    def count(connection):
        with connection.cursor() as rows:
            rows.execute("SELECT count(*) FROM orders")
            return rows.fetchone()[0]

    a, b = connect(), connect()
    with a.cursor() as cursor:
        print(count(a), cursor.execute("INSERT INTO orders (id, name) VALUES (?, ?)", (2, "two")).rowcount, count(a), count(b))
        a.rollback()
        print(count(a), count(b))
        cursor.executemany("INSERT INTO orders (id, name) VALUES (?, ?)", [(n, str(n)) for n in range(10, 13)])
        a.commit()
        print(count(b), cursor.execute("DELETE FROM orders WHERE id > 10 RETURNING id").fetchall())
        for sql in ("INSERT INTO orders (id) VALUES (10)", "INSERT INTO orders (id) VALUES (20)", "SELECT count(*) FROM orders"):
            try:
                cursor.execute(sql).fetchall()
            except flightsql.dbapi.Error as e:
                print(type(e).__name__, str(e).splitlines()[0].partition(". Vendor")[0])
        a.rollback()
        print(count(a))
        for id in (40, 41):  # the cursor keeps its prepared statement
            cursor.execute("INSERT INTO orders (id) VALUES (?)", (id,))
            a.commit() if id == 40 else a.rollback()
        print(count(b))
        cursor.execute("INSERT INTO orders (id) VALUES (20)")
        with b.cursor() as other:
            other.execute("INSERT INTO orders (id) VALUES (20)")
            a.commit()
            try:
                b.commit()
            except flightsql.dbapi.Error as e:
                print(type(e).__name__, str(e).splitlines()[0].partition(". Vendor")[0])
    with connect() as c, c.cursor() as cursor:
        cursor.execute("INSERT INTO orders (id) VALUES (30)")
    print(count(a))


if sys.argv[1] == "asyncpg":
    asyncio.run(with_asyncpg(__import__("asyncpg")))
elif sys.argv[1] == "sqlalchemy":
    with_sqlalchemy(None)
elif sys.argv[1] == "adbc":
    with_adbc(None)
else:
    with_dbapi(__import__(sys.argv[1]))
