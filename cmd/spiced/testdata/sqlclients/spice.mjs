// A session of Spice's client: the answers as JSON, a line each.
import { SpiceClient } from "@spiceai/spice";

const options = JSON.parse(process.argv[2]);
const plain = (v) =>
  JSON.parse(
    JSON.stringify(v, (_, x) => (typeof x === "bigint" ? String(x) : x instanceof Uint8Array ? Buffer.from(x).toString("hex") : x)),
  );
const ids = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const say = (name, value) => console.log(JSON.stringify([name, plain(value)]).replace(ids, "…"));
const rows = (table) => table.toArray().map((r) => (r.toJSON ? r.toJSON() : r));
const failed = (e) => ({ error: String(e.message ?? e) });

const client = new SpiceClient({ ...options, logging: false });
client.setMaxRetries(0);
say("ready", [await client.isSpiceReady(), await client.isSpiceHealthy()]);
say("function", rows(await client.sql("SELECT twice(21) AS n, greeting('spice') AS g")));
say("parameters", rows(await client.sql("SELECT twice($1) AS n, $2::VARCHAR AS s", { parameters: [21, "x"] })));
say("table function", rows(await client.sql("SELECT id, name FROM people_in('Oslo')")));
const every = await client.sql('SELECT "boolean", "integer", "bigint", "double", "varchar", "date" FROM every_type');
say("types", rows(every));
const all = await client.sql("SELECT * FROM every_type");
say("columns", [all.numRows, all.numCols]);
const { execution_time_ms, ...json } = await client.sqlJson("SELECT id, name, born FROM people ORDER BY id");
say("json", [json, typeof execution_time_ms]);
say("error", await client.sql("SELECT nosuch FROM people").then(rows, failed));
say("refused", await client.sql("SELECT * FROM read_csv('/etc/passwd')").then(rows, failed));
say("refresh", await client.refreshAcceleration("people").then((r) => r ?? "done", failed));

const long = "SELECT count(*) AS n FROM range(10000000) a, range(10000000) b WHERE a.range % 7 = b.range % 5";
const running = client.sql(long).then(rows, failed);
let active = [];
while (active.length === 0) active = await client.listActiveQueries();
say("active", active.map((q) => [q.sql_preview.includes("range"), typeof q.started_at_ms]));
say("cancel", (await client.cancelActiveQuery(active[0].query_id)).status);
say("cancelled", "error" in (await running));
say("cancel again", await client.cancelActiveQuery(active[0].query_id).then((r) => r, failed));

const job = await client.query("SELECT id, name FROM people ORDER BY id");
say("job", rows(await job.results()));
say("job status", await job.status());
const slow = await client.query(long);
await slow.cancel();
say("slow job", await slow.waitForCompletion({ pollIntervalMs: 20, timeoutMs: 10000 }));
const bad = await client.query("SELECT nosuch FROM people").then((j) => j.results().then(rows, failed), failed);
say("bad job", bad);
say("jobs", (await client.listQueries()).length >= 2);
process.exit(0);
