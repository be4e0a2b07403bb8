// The stream of events of the runtime (GET /v1/events), for all tabs together: a browser opens six
// connections to a server at most, so that a stream for each tab would leave none to the seventh. There is
// one stream for each key that the tabs have, and each tab has a port to it. When the connection is lost, it
// is opened again, with pauses that grow to ten seconds; the runtime sends again what was missed, or asks the
// pages to read their lists again (the event reset).
import { readEvents } from './sse.ts'

export interface LiveEvent {
  kind: string
  data: any
}

/** denied: the runtime does not know the key. */
export type StreamState = 'connecting' | 'open' | 'lost' | 'denied'

/** What a tab sends: the key whose stream it follows, in place of the one before; null: none any more. */
export interface Follow {
  key: string | null
}

/** What a tab gets: the state of its stream, and each event. */
export type Message = { state: StreamState } | { event: LiveEvent }

const maxPause = 10_000
const streams = new Map<string, Stream>()

class Stream {
  private readonly tabs = new Set<MessagePort>()
  private readonly stop = new AbortController()
  private state: StreamState = 'connecting'
  private last = '' // the position in the stream

  constructor(private readonly key: string) {
    streams.set(key, this)
    void this.run()
  }

  join(tab: MessagePort) {
    this.tabs.add(tab)
    this.tell({ state: this.state }, [tab])
  }

  leave(tab: MessagePort) {
    this.tabs.delete(tab)
    if (this.tabs.size === 0) this.end()
  }

  private end() {
    this.stop.abort()
    if (streams.get(this.key) === this) streams.delete(this.key)
  }

  private tell(what: Message, tabs: Iterable<MessagePort> = this.tabs) {
    for (const tab of tabs) tab.postMessage(what)
  }

  private enter(state: StreamState) {
    this.state = state
    this.tell({ state })
  }

  private async run() {
    let pause = 250
    while (!this.stop.signal.aborted) {
      const headers: Record<string, string> = { Accept: 'text/event-stream' }
      if (this.key) headers['X-API-Key'] = this.key
      if (this.last) headers['Last-Event-ID'] = this.last
      try {
        const response = await fetch('/v1/events', { headers, signal: this.stop.signal, cache: 'no-cache' })
        if (response.status === 401) {
          this.end() // a tab that has another key, or the same one later, joins another stream
          return this.enter('denied')
        }
        if (response.ok)
          for await (const e of readEvents(response.body!)) {
            if (e.id) this.last = e.id
            if (e.event === 'hello') {
              pause = 250
              this.enter('open')
            }
            if (e.event) this.tell({ event: { kind: e.event, data: e.data ? JSON.parse(e.data) : null } })
          }
      } catch {
        // it is opened again
      }
      if (this.stop.signal.aborted) return
      this.enter('lost')
      await new Promise(done => setTimeout(done, pause))
      pause = Math.min(pause * 2, maxPause)
    }
  }
}

/** serve lets a tab follow the streams through its port. */
export function serve(tab: MessagePort) {
  let current: Stream | undefined
  tab.onmessage = (message: MessageEvent<Follow>) => {
    const { key } = message.data
    current?.leave(tab)
    current = key === null ? undefined : (streams.get(key) ?? new Stream(key))
    current?.join(tab)
  }
}
