# A session of psycopg 3. What PG* in the environment says is where the server
# is.
import datetime
import psycopg
from psycopg import errors


def say(name, value):
    print(name, repr(value))


conn = psycopg.connect()
cur = conn.cursor()
say("function", cur.execute("SELECT twice(21) AS n, greeting('psycopg') AS g, twice(NULL)").fetchall())
say(
    "parameters",
    cur.execute(
        "SELECT twice(%s), %s::VARCHAR, %s::DATE, %s::DOUBLE, %s::BIGINT",
        (21, "it's é", datetime.date(2024, 2, 29), 1.5, None),
    ).fetchall(),
)
say("table function", cur.execute("SELECT id, name FROM people_in(%s)", ("Oslo",)).fetchall())
cur.execute("SELECT * FROM every_type")
values, nulls = cur.fetchall()
for column, value, null in zip(cur.description, values, nulls):
    say("type " + column.name, (column.type_code, value, null))

binary = conn.cursor(binary=True)
for name in ("boolean", "smallint", "bigint", "hugeint", "decimal", "double", "date", "timestamp", "interval", "uuid", "list", "texts"):
    got = binary.execute('SELECT "%s" FROM every_type' % name).fetchall()
    # As binary and as text, the values are the same.
    if got != cur.execute('SELECT "%s" FROM every_type' % name).fetchall():
        say("binary " + name, got)

for _ in range(2):
    cur.execute("SELECT name FROM people WHERE id = %s", (2,), prepare=True)
say("prepared", cur.fetchall())
cur.executemany("SELECT twice(%s)", [(1,), (2,)], returning=True)
say("many", [cur.fetchone(), cur.nextset(), cur.fetchone()])
conn.commit()

with conn.transaction(), conn.cursor("pieces") as pieces:
    pieces.itersize = 2
    pieces.execute("SELECT id FROM people ORDER BY id")
    say("server-side cursor", [pieces.fetchone(), pieces.fetchall()])

with conn.cursor() as cur:
    with cur.copy("COPY (SELECT id, name, born FROM people) TO STDOUT") as copy:
        say("copied", list(copy.rows()))
    with cur.copy("COPY (SELECT id, born FROM people WHERE id > %s) TO STDOUT (FORMAT binary)", (1,)) as copy:
        copy.set_types(["int8", "date"])
        say("copied in binary", list(copy.rows()))
conn.commit()

for sql in (
    "SELECT nosuch FROM people",
    "SELEKT 1",
    "SELECT * FROM read_csv('/etc/passwd')",
    "DELETE FROM people",
    "SELECT * FROM nosuch",
):
    try:
        with conn.transaction():
            conn.execute(sql)
    except psycopg.Error as e:
        say(sql, (type(e).__name__, e.sqlstate, e.diag.statement_position))

conn.autocommit = True
conn.execute("SET statement_timeout = '1s'")
try:
    conn.execute("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5")
except errors.QueryCanceled as e:
    say("cancelled", e.sqlstate)
say("after", conn.execute("SELECT 1").fetchone())
conn.close()
