// The view's half of MCP Apps (SEP-1865, specification 2026-01-26): JSON-RPC over postMessage with the
// client that shows the view. The official library has it too, at 129 KB compressed in every view; this
// is what a view needs that only shows the result of one call.

export const protocolVersion = '2026-01-26'

/** The result of a tool, as MCP has it. */
export interface CallToolResult {
  content?: { type: string; text?: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
  _meta?: Record<string, unknown>
}

/** What the client says of itself and of the call. */
export interface HostContext {
  theme?: 'light' | 'dark'
  toolInfo?: { tool: { name: string; title?: string } }
}

export interface Listener {
  context: (context: HostContext) => void
  input: (args: Record<string, unknown>) => void
  result: (result: CallToolResult) => void
  cancelled: (reason: string) => void
}

interface Message {
  jsonrpc: '2.0'
  id?: number | string
  method?: string
  params?: any
  result?: any
  error?: { code: number; message: string }
}

const timeout = 10_000 // ms for the client to answer

export class Host {
  private next = 1
  private readonly waiting = new Map<number, { done: (result: any) => void; failed: (e: Error) => void }>()
  private capabilities: Record<string, unknown> = {}

  constructor(private readonly listener: Listener) {
    addEventListener('message', e => {
      // Only the client speaks for itself; other frames of its page can send messages, too.
      if (e.source === parent && e.data?.jsonrpc === '2.0') this.receive(e.data as Message)
    })
  }

  async connect() {
    const answer = await this.request('ui/initialize', {
      protocolVersion,
      appInfo: { name: 'spiced', version: '1' },
      appCapabilities: { availableDisplayModes: ['inline', 'fullscreen'] },
    })
    this.capabilities = answer.hostCapabilities ?? {}
    this.listener.context(answer.hostContext ?? {})
    this.notify('ui/notifications/initialized', {})
    this.reportSize()
  }

  /** canOpen reports whether the client opens links. */
  get canOpen(): boolean {
    return 'openLinks' in this.capabilities
  }

  /** open asks the client to open a link in the user's browser. */
  open(url: string): Promise<unknown> {
    return this.request('ui/open-link', { url })
  }

  private reportSize() {
    const report = () => {
      const { width, height } = document.documentElement.getBoundingClientRect()
      this.notify('ui/notifications/size-changed', { width: Math.ceil(width), height: Math.ceil(height) })
    }
    new ResizeObserver(report).observe(document.documentElement)
  }

  private request(method: string, params: unknown): Promise<any> {
    const id = this.next++
    return new Promise((done, failed) => {
      const late = setTimeout(() => {
        this.waiting.delete(id)
        failed(new Error(`the client did not answer ${method}`))
      }, timeout)
      const settle =
        <T>(f: (value: T) => void) =>
        (value: T) => {
          clearTimeout(late)
          f(value)
        }
      this.waiting.set(id, { done: settle(done), failed: settle(failed) })
      this.send({ jsonrpc: '2.0', id, method, params })
    })
  }

  private notify(method: string, params: unknown) {
    this.send({ jsonrpc: '2.0', method, params })
  }

  private send(message: Message) {
    // The view cannot know the origin of the client that shows it; it sends nothing that is secret.
    parent.postMessage(message, '*')
  }

  private receive(m: Message) {
    if (m.method === undefined) {
      const waits = this.waiting.get(m.id as number)
      this.waiting.delete(m.id as number)
      if (m.error) waits?.failed(new Error(m.error.message))
      else waits?.done(m.result ?? {})
      return
    }
    switch (m.method) {
      case 'ui/notifications/host-context-changed':
        return this.listener.context(m.params ?? {})
      case 'ui/notifications/tool-input':
        return this.listener.input(m.params?.arguments ?? {})
      case 'ui/notifications/tool-result':
        return this.listener.result(m.params ?? {})
      case 'ui/notifications/tool-cancelled':
        return this.listener.cancelled(m.params?.reason ?? '')
    }
    if (m.id === undefined) return // a notification that this view does not use
    const known = m.method === 'ping' || m.method === 'ui/resource-teardown'
    if (known) this.send({ jsonrpc: '2.0', id: m.id, result: {} })
    else this.send({ jsonrpc: '2.0', id: m.id, error: { code: -32601, message: `${m.method} is not supported` } })
  }
}
