// Uses a server through the official client for TypeScript: reads one JSON
// argument, {url} or {command, args}, with the names of resources to {read} and
// {file, text}, an edit of the Spicepod, and writes what it saw.
// TestMCPTypeScript says what that should be.
import { writeFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

const given = JSON.parse(process.argv[2]);
const client = new Client({ name: 'typescript', version: '1' });
await client.connect(given.url
  ? new StreamableHTTPClientTransport(new URL(given.url))
  : new StdioClientTransport({ command: given.command, args: given.args, stderr: 'inherit' }));

// list reads all pages of a list.
async function list(read, what) {
  const pages = [];
  let cursor;
  do {
    const page = await read({ cursor });
    pages.push(page[what]);
    cursor = page.nextCursor;
  } while (cursor);
  return pages;
}
const listTools = () => list((params) => client.listTools(params), 'tools');

// failure is what a client sees of an error.
const failure = (e) => ({ kind: e.constructor.name, code: e.code, message: e.message });

const saw = { server: client.getServerVersion(), capabilities: client.getServerCapabilities() };
const pages = await listTools();
saw.pages = pages.map((page) => page.map((tool) => tool.name));
saw.tool = pages.flat().find((tool) => tool.name === 'haversine_km');
saw.distance = await client.callTool({ name: 'haversine_km', arguments: given.coordinates });
saw.fails = await client.callTool({ name: 'fails', arguments: {} });
saw.invalid = await client.callTool({ name: 'haversine_km', arguments: { lat1: 'north' } }).catch(failure);
saw.unknown = await client.callTool({ name: 'haversine', arguments: {} }).catch(failure);
saw.resources = (await list((params) => client.listResources(params), 'resources'))
  .flat().filter(({ name }) => given.read.includes(name));
saw.texts = [];
for (const { uri } of saw.resources) {
  saw.texts.push(...(await client.readResource({ uri })).contents);
}

// A call is cancelled when the server has said that it runs, after saying that
// it begins.
const abort = new AbortController();
saw.progress = 0;
saw.cancelled = await client.callTool({ name: 'slow', arguments: {} }, undefined, {
  signal: abort.signal,
  onprogress: () => {
    saw.progress++;
    if (saw.progress === 2) abort.abort('enough');
  },
}).catch(failure);

const changed = new Promise((resolve) => {
  client.setNotificationHandler(ToolListChangedNotificationSchema, resolve);
});
writeFileSync(given.file, given.text);
await changed;
saw.after = (await listTools()).flat().map((tool) => tool.name);
await client.close();
console.log(JSON.stringify(saw));
