// Uses a server as client.mjs does, through version 2 of the official client
// for TypeScript and revision 2026-07-28 of the protocol.
import { writeFileSync } from 'node:fs';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const given = JSON.parse(process.argv[2]);
const client = new Client({ name: 'typescript', version: '2' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
const changed = new Promise((resolve) => {
  client.setNotificationHandler('notifications/tools/list_changed', resolve);
});
await client.connect(given.url
  ? new StreamableHTTPClientTransport(new URL(given.url))
  : new StdioClientTransport({ command: given.command, args: given.args, stderr: 'inherit' }));

// failure is what a client sees of an error.
const failure = (e) => ({ kind: e.constructor.name, code: e.code, message: e.message });

// pages reads all pages of a list.
async function pages(method, what) {
  const all = [];
  let cursor;
  do {
    const page = await client.request({ method, params: { cursor } });
    all.push(page[what]);
    cursor = page.nextCursor;
  } while (cursor);
  return all;
}
const listTools = () => pages('tools/list', 'tools');

const saw = { revision: client.getNegotiatedProtocolVersion(), server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
const before = await listTools();
saw.pages = before.map((page) => page.map((tool) => tool.name));
saw.tool = before.flat().find((tool) => tool.name === 'haversine_km');
saw.distance = await client.callTool({ name: 'haversine_km', arguments: given.coordinates });
saw.fails = await client.callTool({ name: 'fails', arguments: {} });
saw.invalid = await client.callTool({ name: 'haversine_km', arguments: { lat1: 'north' } }).catch(failure);
saw.unknown = await client.callTool({ name: 'haversine', arguments: {} }).catch(failure);
saw.resources = (await pages('resources/list', 'resources'))
  .flat().filter(({ name }) => given.read.includes(name));
saw.texts = [];
for (const { uri } of saw.resources) {
  saw.texts.push(...(await client.readResource({ uri })).contents);
}
saw.missing = await client.readResource({ uri: 'spiced://functions/nothing' }).catch(failure);

// A call is cancelled when the server has said that it runs, after saying that
// it begins.
const abort = new AbortController();
saw.progress = 0;
saw.cancelled = await client.callTool({ name: 'slow', arguments: {} }, {
  signal: abort.signal,
  onprogress: () => {
    saw.progress++;
    if (saw.progress === 2) abort.abort('enough');
  },
}).catch((e) => ({ kind: e.constructor.name }));

const subscription = await client.listen({ toolsListChanged: true });
writeFileSync(given.file, given.text);
await changed;
saw.after = (await listTools()).flat().map((tool) => tool.name);
await subscription.close();
await client.close();
console.log(JSON.stringify(saw));
