# A session of asyncpg. What PG* in the environment says is where the server
# is. It sends values in binary, and by the types that the server tells alone.
import asyncio
import datetime
import decimal
import io
import uuid

import asyncpg


def say(name, value):
    print(name, repr(value))


async def main():
    conn = await asyncpg.connect(ssl=False)
    say("function", await conn.fetch("SELECT twice(21) AS n, greeting('asyncpg') AS g, twice(NULL) AS z"))
    say(
        "parameters",
        await conn.fetchrow(
            "SELECT twice($1) AS n, $2::VARCHAR AS s, $3::DATE AS d, $4::DOUBLE AS f, $5::BIGINT AS nothing, $6::UUID AS u, $7::DECIMAL(10, 2) AS m, $8::INTEGER[] AS l",
            21, "it's é", datetime.date(2024, 2, 29), 1.5, None, uuid.UUID(int=1), decimal.Decimal("1.25"), [1, None, 3],
        ),
    )
    # A parameter of one type where a wider one is needed.
    for sql in (
        "SELECT name FROM people WHERE id = $1::INTEGER",
        "SELECT name FROM people WHERE id = CAST($1 AS SMALLINT) AND name <> ''",
        "SELECT name FROM people WHERE $1::INTEGER[] = [2] OR id = $2::int",
    ):
        stmt = await conn.prepare(sql)
        say("types", ([t.name for t in stmt.get_parameters()], [(a.name, a.type.name) for a in stmt.get_attributes()]))
    say("wider", await conn.fetchval("SELECT name FROM people WHERE id = $1::INTEGER", 2))
    say("any", await conn.fetch("SELECT name FROM people WHERE id = ANY($1) AND name <> ALL($2) ORDER BY id", [1, 2, 4], ["Alice"]))
    say("json of a parameter", await conn.fetchrow("SELECT json_object($1::VARCHAR, id) AS j, id FROM people WHERE id = $2::SMALLINT", "k", 2))
    say("table function", await conn.fetch("SELECT id, name FROM people_in($1)", "Oslo"))

    names = [a.name for a in (await conn.prepare("SELECT * FROM every_type")).get_attributes()]
    values, nulls = await conn.fetch("SELECT * FROM every_type")
    for name in names:
        say("type " + name, (values[name], nulls[name]))

    async with conn.transaction():
        say("cursor", [r["id"] async for r in conn.cursor("SELECT id FROM people ORDER BY id", prefetch=2)])
    async with conn.transaction(isolation="repeatable_read", readonly=True):
        say("read only", await conn.fetchval("SELECT count(*) FROM people"))

    copied = io.BytesIO()
    say("copied", (await conn.copy_from_query("SELECT id, name FROM people WHERE id > $1", 1, output=copied, format="csv", header=True), copied.getvalue()))
    copied = io.BytesIO()
    say("a table copied", (await conn.copy_from_table("people", columns=["name", "born"], output=copied, delimiter="|"), copied.getvalue()))

    for sql in (
        "SELECT nosuch FROM people",
        "SELEKT 1",
        "SELECT * FROM read_csv('/etc/passwd')",
        "DELETE FROM people",
        "SELECT * FROM nosuch",
    ):
        try:
            await conn.fetch(sql)
        except asyncpg.PostgresError as e:
            say(sql, (type(e).__name__, e.sqlstate, e.position))
    try:
        await conn.fetchval("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5", timeout=0.2)
    except asyncio.TimeoutError:
        say("cancelled", None)
    say("after", await conn.fetchval("SELECT 1"))
    await conn.close()

    async with asyncpg.create_pool(min_size=2, max_size=2, ssl=False) as pool:
        say("pool", await asyncio.gather(*[pool.fetchval("SELECT twice($1)", i) for i in range(5)]))


asyncio.run(main())
