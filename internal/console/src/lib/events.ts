// The events of the runtime, as the pages follow them. A worker that all tabs share has the stream (stream.ts);
// in a browser without shared workers (Chrome on Android), the page has it itself.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { caller, key, loadCaller, logins } from './api.ts'
import { serve, type Follow, type LiveEvent, type StreamState, type Message } from './stream.ts'
import workerURL from './stream-worker.ts?sharedworker&url'

export const connection = signal<StreamState>('connecting')

type Listener = (event: LiveEvent) => void
const listeners = new Set<Listener>()

function tell(event: LiveEvent) {
  if (event.kind === 'generation') void loadCaller().catch(() => {})
  for (const listener of listeners) listener(event)
}

function enter(state: StreamState) {
  // What the caller may do can have changed; a key that is not known any more is asked for.
  if (connection.value === 'lost' || state === 'denied') void loadCaller().catch(() => {})
  connection.value = state
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

/** follow keeps the page on the stream of the key in use. */
export function follow() {
  let port: MessagePort
  const send = (what: Follow) => port.postMessage(what)
  const open = (to: MessagePort) => {
    port = to
    port.onmessage = (message: MessageEvent<Message>) =>
      'event' in message.data ? tell(message.data.event) : enter(message.data.state)
  }
  const openHere = () => {
    const channel = new MessageChannel()
    serve(channel.port2)
    open(channel.port1)
  }
  if (typeof SharedWorker === 'undefined') openHere()
  else {
    // The policy of the page lets this one address become a script, and none else.
    const trusted = (window as any).trustedTypes?.createPolicy('spiced', { createScriptURL: () => workerURL })
    const worker = new SharedWorker(trusted?.createScriptURL('') ?? workerURL, { name: 'spiced events' })
    worker.onerror = () => {
      openHere()
      send({ key: key.value })
    }
    open(worker.port)
  }
  logins.subscribe(() => {
    caller.value = null
    void loadCaller().catch(() => {})
    send({ key: key.value })
  })
  addEventListener('pagehide', () => send({ key: null }))
  addEventListener('pageshow', e => {
    if (!e.persisted) return
    send({ key: key.value })
    tell({ kind: 'reset', data: null }) // what happened meanwhile was missed
  })
}
