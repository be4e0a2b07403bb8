// A session of Knex: the answers as JSON, a line each.
import knex from "knex";

const connection = JSON.parse(process.argv[2]);
const say = (name, value) => console.log(JSON.stringify([name, value]));
const failed = (e) => ({ code: e.code });

const db = knex({ client: "pg", connection: { ...connection, user: "node" } });
say("select", await db("customers").where("id", "<", 3).orderBy("id").select("id", "email"));
say("function", await db.raw("SELECT twice(?) AS n", [21]).then((r) => r.rows));
say("inserted", await db("customers").insert([{ id: 10, email: "ten@x" }, { id: 11, email: "eleven@x" }]).returning(["id", "email"]));
say("merged", await db("customers").insert({ id: 10, email: "TEN" }).onConflict("id").merge().returning("email"));
say("ignored", (await db("customers").insert({ id: 10, email: "no" }).onConflict("id").ignore().returning("id")).length);
say("updated", await db("customers").where({ id: 11 }).update({ email: "ELEVEN" }, ["id", "email"]));
say("deleted", await db("customers").where("id", ">=", 10).del());
say("duplicate", await db("customers").insert({ id: 1, email: "x" }).catch(failed));
say("columns", await db("customers").columnInfo());
say("has", [await db.schema.hasTable("customers"), await db.schema.hasTable("nosuch"), await db.schema.hasColumn("customers", "born")]);
say("paged", await db("customers").orderBy("id").limit(1).offset(1).pluck("id"));
say("count", await db("customers").count("* as n").first());
await db.destroy();
