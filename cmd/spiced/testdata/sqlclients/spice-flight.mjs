// A session of Spice's client over Arrow Flight alone: the answers as JSON, a
// line each.
import { SpiceClient } from "@spiceai/spice";

const options = JSON.parse(process.argv[2]);
const plain = (v) =>
  JSON.parse(
    JSON.stringify(v, (_, x) => (typeof x === "bigint" ? String(x) : x instanceof Uint8Array ? Buffer.from(x).toString("hex") : x)),
  );
const say = (name, value) => console.log(JSON.stringify([name, plain(value)]));
const rows = (table) => table.toArray().map((r) => (r.toJSON ? r.toJSON() : r));
const failed = (e) => ({ code: e.code, error: String(e.details ?? e.message ?? e) });

const client = new SpiceClient({ ...options, flightOnly: true, logging: false });
client.setMaxRetries(0);
say("function", rows(await client.sql("SELECT twice(21) AS n, greeting('spice') AS g, twice(NULL) AS nothing")));
say("parameters", rows(await client.sql("SELECT twice($1) AS n, $2 AS s, $3 AS x, $4 AS b", { parameters: [21, "it's é", 1.5, true] })));
say("named", rows(await client.sql("SELECT twice($n) AS n, $s AS s", { parameters: { n: 21, s: "x" } })));
say("NULL", rows(await client.sql("SELECT twice($1) AS n, $2::VARCHAR AS s", { parameters: [null, null] })));
say("table function", rows(await client.sql("SELECT id, name FROM people_in($1)", { parameters: ["Oslo"] })));
const every = await client.sql("SELECT * FROM every_type");
for (const field of every.schema.fields) {
  say(field.name, [String(field.type), ...[0, 1].map((i) => every.getChild(field.name).get(i))]);
}
const many = await client.sql("SELECT range FROM range(10000)");
say("many", many.numRows);
say("error", await client.sql("SELECT nosuch FROM people").then(rows, failed));
say("syntax", await client.sql("SELEKT 1").then(rows, failed));
say("refused", await client.sql("SELECT * FROM read_csv('/etc/passwd')").then(rows, failed));
say("late", await client.sql("SELECT error('the ferry is late')").then(rows, failed));
say("parameter", await client.sql("SELECT twice($1)", { parameters: ["x"] }).then(rows, failed));
say("after", rows(await client.sql("SELECT 1 AS a")));
const stranger = new SpiceClient({ ...options, apiKey: "reader-key-01234567890", flightOnly: true, logging: false });
stranger.setMaxRetries(0);
say("wrong key", (await stranger.sql("SELECT 1 AS a").then(rows, failed)).code ?? "none needed");
process.exit(0);
