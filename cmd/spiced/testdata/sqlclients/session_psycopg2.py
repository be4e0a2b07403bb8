# A session of psycopg2. What PG* in the environment says is where the server
# is.
import datetime
import psycopg2


def say(name, value):
    print(name, repr(value))


conn = psycopg2.connect("")
cur = conn.cursor()


def rows(sql, parameters=None):
    cur.execute(sql, parameters)
    return cur.fetchall()


say("function", rows("SELECT twice(21) AS n, greeting('psycopg2') AS g, twice(NULL)"))
say(
    "parameters",
    rows(
        "SELECT twice(%s), %s, %s, %s, %s",
        (21, "it's é", datetime.date(2024, 2, 29), 1.5, None),
    ),
)
say("table function", rows("SELECT id, name FROM people_in(%s)", ("Oslo",)))
values, nulls = rows("SELECT * FROM every_type")
for column, value, null in zip(cur.description, values, nulls):
    value = bytes(value) if isinstance(value, memoryview) else value
    say("type " + column.name, (column.type_code, value, null))
conn.commit()

with conn, conn.cursor("pieces") as pieces:
    pieces.itersize = 2
    pieces.execute("SELECT id FROM people ORDER BY id")
    say("server-side cursor", [pieces.fetchone(), pieces.fetchmany(1), pieces.fetchall()])

for sql in (
    "SELECT nosuch FROM people",
    "SELEKT 1",
    "SELECT * FROM read_csv('/etc/passwd')",
    "DELETE FROM people",
    "SELECT * FROM nosuch",
):
    try:
        cur.execute(sql)
    except psycopg2.Error as e:
        say(sql, (type(e).__name__, e.pgcode, e.diag.statement_position))
        conn.rollback()

conn.autocommit = True
cur.execute("SET statement_timeout = '1s'")
try:
    cur.execute("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5")
except psycopg2.errors.QueryCanceled as e:
    say("cancelled", e.pgcode)
say("after", rows("SELECT 1"))
conn.close()
