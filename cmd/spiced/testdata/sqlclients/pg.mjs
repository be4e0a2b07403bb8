// A session of node-postgres: the answers as JSON, a line each.
import pg from "pg";

const { url, ...options } = JSON.parse(process.argv[2]);
const say = (name, value) => console.log(JSON.stringify([name, value]));
const failed = (e) => ({ code: e.code, position: e.position, message: e.message });

const client = new pg.Client({ ...options, user: "node" });
await client.connect();
say("function", (await client.query("SELECT twice(21) AS n, greeting('node') AS g")).rows);
say("parameters", (await client.query("SELECT twice($1) AS n, $2::VARCHAR AS s, $3::DATE AS d", [21, "x", null])).rows);
const named = { name: "by-city", text: "SELECT id, name FROM people_in($1)", values: ["Oslo"] };
say("prepared", [(await client.query(named)).rows, (await client.query({ ...named, values: ["Rome"] })).rows]);
const every = await client.query({ text: "SELECT * FROM every_type", rowMode: "array" });
say("types", every.fields.map((f, i) => [f.name, f.dataTypeID, every.rows[0][i], every.rows[1][i]]));
say("error", await client.query("SELECT nosuch FROM people").catch(failed));
say("syntax", await client.query("SELEKT 1").catch(failed));
say("refused", await client.query("SELECT * FROM read_csv('/etc/passwd')").catch(failed));
say("many", (await client.query("SELECT 1 AS a; SELECT 2 AS b")).map((r) => r.rows));
say("transaction", [
  (await client.query("BEGIN")).command,
  (await client.query("SELECT count(*)::INTEGER AS n FROM people")).rows,
  (await client.query("COMMIT")).command,
]);

const other = new pg.Client({ ...options, user: "node" });
await other.connect();
const long = other.query("SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5").catch(failed);
// A cancellation reaches only what runs already.
const active = () => fetch(url + "/v1/sql/active", { headers: { "X-API-Key": options.password } }).then((r) => r.text());
while (!(await active()).includes("range"));
const cancel = new pg.Client({ ...options, user: "node" });
cancel.cancel(other, other._activeQuery);
say("cancelled", await long);
say("after", (await other.query("SELECT 1 AS a")).rows);
await other.end();
await client.end();
