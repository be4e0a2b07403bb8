// Calls of the public HTTP API. The console has no other way to the runtime.
import { signal } from '@preact/signals'

/** A fault of the Spicepod, as GET /v1/status has it. */
export interface Problem {
  severity: 'error' | 'warning'
  message: string
  hint?: string
  component?: string
  path?: string
  file: string
  line: number
  column: number
  source?: string
  waits_for?: string
}

/** An error of the API. status is 0 if the runtime was not reached. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint = '',
    readonly line = 0,
    readonly column = 0,
    readonly problems: Problem[] = [],
    readonly body: unknown = undefined,
  ) {
    super(message)
  }
}

const keyName = 'spiced.key'

/** The key that requests carry; it is kept for this tab only, and never part of an address. */
export const key = signal(sessionStorage.getItem(keyName) ?? '')

/** Why a key is asked for; empty if none is needed. */
export const keyWanted = signal('')

/** How many keys were entered: the same key again is another try. */
export const logins = signal(0)

/** tryKey asks the runtime whether it knows a key, and uses it if so. The error says why not. */
export async function tryKey(value: string) {
  if (!/^[\x21-\x7e]{1,4096}$/.test(value)) throw new Error('A key has 1 to 4,096 letters, digits and marks of ASCII.')
  const response = await fetch('/v1/caller', { headers: { 'X-API-Key': value }, cache: 'no-cache' }).catch(() => {
    throw unreachable()
  })
  if (response.status === 401) throw new Error('The runtime does not know this key.')
  if (!response.ok) throw await errorOf(response)
  useKey(value)
}

const unreachable = () => new ApiError(0, 'unreachable', 'The runtime does not answer.', 'Is spiced still running?')

/** useKey changes the key. What this tab keeps was of another one, maybe of another person, and is forgotten. */
export function useKey(value: string) {
  if (key.value && key.value !== value)
    for (const name of Object.keys(sessionStorage)) if (name.startsWith('spiced.')) sessionStorage.removeItem(name)
  key.value = value
  logins.value++
  keyWanted.value = ''
  if (value) sessionStorage.setItem(keyName, value)
  else sessionStorage.removeItem(keyName)
}

export interface CallOptions {
  method?: string
  /** A value that is sent as JSON, or a text that is sent as it is. */
  body?: unknown
  headers?: Record<string, string>
  signal?: AbortSignal
}

const mostTries = 4
const mostPause = 5 // seconds: a request that has to wait longer fails

let repeated: Promise<unknown> = Promise.resolve()

/**
 * repeat sends a request again that a limit has refused, after the time that the runtime asks for. A page
 * sends several requests at once, so those that are refused go one after another.
 */
async function repeat(path: string, init: RequestInit, refused: Response): Promise<Response | undefined> {
  const seconds = Number(refused.headers.get('Retry-After') || 1)
  if (!(seconds <= mostPause)) return undefined
  const turn = repeated.then(async () => {
    await new Promise(done => setTimeout(done, seconds * 1000))
    return fetch(path, init)
  })
  repeated = turn.catch(() => {})
  return turn
}

/** fetchApi returns the response of a route; one that is no success is thrown as an ApiError. */
export async function fetchApi(path: string, o: CallOptions = {}): Promise<Response> {
  const headers = new Headers(o.headers)
  const sent = key.value
  if (sent) headers.set('X-API-Key', sent)
  let body: string | undefined
  if (typeof o.body === 'string') {
    body = o.body
    if (!headers.has('Content-Type')) headers.set('Content-Type', 'text/plain')
  } else if (o.body !== undefined) {
    body = JSON.stringify(o.body)
    headers.set('Content-Type', 'application/json')
  }
  if (!headers.has('Accept')) headers.set('Accept', 'application/json')
  const init: RequestInit = { method: o.method ?? (body === undefined ? 'GET' : 'POST'), headers, cache: 'no-cache' }
  if (body !== undefined) init.body = body
  if (o.signal) init.signal = o.signal
  let response: Response
  try {
    response = await fetch(path, init)
    for (let tries = 0; response.status === 429 && tries < mostTries; tries++) {
      const next = await repeat(path, init, response)
      if (!next) break
      response = next
    }
  } catch (cause) {
    if (o.signal?.aborted) throw cause
    throw unreachable()
  }
  if (response.ok) return response
  if (response.status === 401 && sent === key.value)
    keyWanted.value = sent ? 'The runtime does not know this key.' : 'The runtime asks for a key.'
  throw await errorOf(response)
}

async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '')
  let body: any
  try {
    body = JSON.parse(text)
  } catch {
    body = undefined
  }
  const e = body?.error && typeof body.error === 'object' ? body.error : body
  const message = e?.message || text.slice(0, 1000) || `${response.status} ${response.statusText}`
  return new ApiError(
    response.status,
    e?.code ?? '',
    message,
    e?.hint ?? '',
    e?.line ?? 0,
    e?.column ?? 0,
    e?.problems ?? [],
    body,
  )
}

/** api calls a route and returns its JSON. */
export async function api<T>(path: string, o: CallOptions = {}): Promise<T> {
  const response = await fetchApi(path, o)
  if (response.status === 204) return undefined as T
  return (await response.json()) as T
}

/** rows runs a statement and returns its rows. */
export function rows<T>(sql: string, parameters?: unknown[], signal?: AbortSignal): Promise<T[]> {
  const o: CallOptions = { body: parameters?.length ? { sql, parameters } : { sql } }
  if (signal) o.signal = signal
  return api<T[]>('/v1/sql', o)
}

/** What GET /v1/caller says about the requests of this page. */
export interface Caller {
  principal?: string | null
  keys: boolean
  may_write: boolean
  may_approve: boolean
  on_behalf_of: boolean
  user?: string
  space?: string
  generation: number
  ready: boolean
  version?: string
}

export const caller = signal<Caller | null>(null)

export async function loadCaller() {
  caller.value = await api<Caller>('/v1/caller')
}
