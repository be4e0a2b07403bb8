// The stream of events of the runtime (GET /v1/events). One connection serves all pages. When it is
// lost, it is opened again, with pauses that grow to ten seconds; what was missed is sent again by the
// runtime, or it asks the pages to read their lists again.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, caller, fetchApi, key, loadCaller } from './api.ts'
import { readEvents } from './sse.ts'

export type Connection = 'connecting' | 'open' | 'lost'
export const connection = signal<Connection>('connecting')

/** Whether the last load of the Spicepod was refused; an older generation is served then. */
export const refused = signal(false)

export interface LiveEvent {
  kind: string
  data: any
}

type Listener = (event: LiveEvent) => void
const listeners = new Set<Listener>()
const maxPause = 10_000

let stop: AbortController | undefined
let last = '' // the position in the stream

/**
 * connect opens the stream, in place of one that is open. A tab that is not shown has none: browsers open
 * six connections to a server at most, for all tabs together.
 */
function connect() {
  stop?.abort()
  if (document.hidden) return
  stop = new AbortController()
  void run(stop.signal)
}

async function run(until: AbortSignal) {
  let pause = 250
  while (!until.aborted) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' }
      if (last) headers['Last-Event-ID'] = last
      const response = await fetchApi('/v1/events', { headers, signal: until })
      for await (const e of readEvents(response.body!)) {
        if (e.id) last = e.id
        if (e.event === 'hello') {
          pause = 250
          if (connection.value === 'lost') await loadCaller().catch(() => {})
          connection.value = 'open'
        }
        if (e.event === 'generation') {
          refused.value = JSON.parse(e.data).accepted === false
          void loadCaller().catch(() => {})
        }
        if (e.event) tell({ kind: e.event, data: e.data ? JSON.parse(e.data) : null })
      }
    } catch (error) {
      if (until.aborted) return
      if (error instanceof ApiError && error.status === 401) return // the next key connects again
    }
    if (until.aborted) return
    connection.value = 'lost'
    await new Promise(done => setTimeout(done, pause))
    pause = Math.min(pause * 2, maxPause)
  }
}

function tell(event: LiveEvent) {
  for (const listener of listeners) listener(event)
}

/** useEvents calls listener with each event of these kinds, and with every reset. */
export function useEvents(kinds: string[], listener: Listener) {
  const current = useRef(listener)
  current.current = listener
  useEffect(() => {
    const own: Listener = e => {
      if (e.kind === 'reset' || kinds.includes(e.kind)) current.current(e)
    }
    listeners.add(own)
    return () => void listeners.delete(own)
  }, [kinds.join()])
}

/** follow keeps the stream open with the key in use. */
export function follow() {
  key.subscribe(() => {
    caller.value = null
    last = ''
    void loadCaller().catch(() => {})
    connect()
  })
  document.addEventListener('visibilitychange', connect)
}
