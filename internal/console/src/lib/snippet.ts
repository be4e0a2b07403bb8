// The equivalent of an action, to copy: curl, Python, JavaScript, MCP, SQL. Keys are never part of
// it; a variable of the environment takes their place.
import { caller } from './api.ts'

export interface Request {
  method: string
  path: string
  body?: unknown
  headers?: Record<string, string>
}

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export { sqlName, sqlText } from './sqlquote.ts'

const withKey = (): boolean => caller.value?.keys ?? false
const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

export function curl(r: Request): string {
  const parts = ['curl -s']
  if (r.method !== 'GET' && !(r.method === 'POST' && r.body !== undefined)) parts.push('-X ' + r.method)
  parts.push(quote(location.origin + r.path))
  if (withKey()) parts.push('-H "X-API-Key: $SPICED_API_KEY"')
  for (const [name, value] of Object.entries(r.headers ?? {})) parts.push('-H ' + quote(`${name}: ${value}`))
  if (r.body !== undefined) {
    if (typeof r.body !== 'string') parts.push("-H 'Content-Type: application/json'")
    parts.push('-d ' + quote(textOf(r.body)))
  }
  return parts.join(' \\\n  ')
}

export function javascript(r: Request): string {
  const headers = headersOf(r)
  if (withKey()) headers['X-API-Key'] = '\u0000'
  const fields = [`method: ${JSON.stringify(r.method)}`]
  if (Object.keys(headers).length > 0) fields.push(`headers: ${JSON.stringify(headers)}`)
  if (r.body !== undefined)
    fields.push(
      typeof r.body === 'string'
        ? `body: ${JSON.stringify(r.body)}`
        : `body: JSON.stringify(${JSON.stringify(r.body, null, 2)})`,
    )
  const call = `const response = await fetch(${JSON.stringify(location.origin + r.path)}, {\n  ${fields.join(',\n  ')},\n})`
  return call.replaceAll('"\\u0000"', 'process.env.SPICED_API_KEY') + '\nconsole.log(await response.json())'
}

export function python(r: Request): string {
  const headers = headersOf(r)
  const pairs = Object.entries(headers).map(([k, v]) => `${JSON.stringify(k)}: ${JSON.stringify(v)}`)
  if (withKey()) pairs.push('"X-API-Key": os.environ["SPICED_API_KEY"]')
  const lines = ['import json, os, urllib.request', '']
  if (r.body !== undefined)
    lines.push(
      typeof r.body === 'string'
        ? `body = ${JSON.stringify(r.body)}`
        : `body = json.dumps(json.loads(${JSON.stringify(textOf(r.body))}))`,
    )
  lines.push(
    'request = urllib.request.Request(',
    `    ${JSON.stringify(location.origin + r.path)},`,
    ...(r.body !== undefined ? ['    data=body.encode(),'] : []),
    `    headers={${pairs.join(', ')}},`,
    `    method=${JSON.stringify(r.method)},`,
    ')',
    'print(json.load(urllib.request.urlopen(request)))',
  )
  return lines.join('\n')
}

function headersOf(r: Request): Record<string, string> {
  const headers = { ...r.headers }
  if (r.body !== undefined && typeof r.body !== 'string') headers['Content-Type'] = 'application/json'
  return headers
}

/** mcp is the message that calls a tool over the Model Context Protocol. */
export const mcp = (tool: string, args: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: args } }, null, 2)
