// Calls an agent as a tool through the official client for TypeScript.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const [url, agent, task] = process.argv.slice(2);
const client = new Client({ name: 'typescript', version: '2' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const { tools } = await client.listTools();
const tool = tools.find(({ name }) => name === agent);
let progress = 0;
const result = await client.callTool({ name: agent, arguments: { task } }, { onprogress: () => { progress++; } });
const refused = await client.callTool({ name: agent, arguments: {} });
await client.close();
console.log(JSON.stringify({
  names: tools.map(({ name }) => name), description: tool.description,
  text: result.content[0].text, isError: result.isError ?? false,
  progress, refused: refused.content[0].text, refusedIsError: refused.isError,
}));
