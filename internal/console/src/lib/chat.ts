// A chat with a model of the runtime, as a stream: POST /v1/chat/completions with the events of calls.
import { api, ApiError, fetchApi } from './api.ts'
import { readEvents } from './sse.ts'

/** What GET /v1/models says of the tools of a model. */
export interface ModelTools {
  mode: string
  reason: string
  count: number
  advertised: string[] | null
  definition_tokens: number
  /** What all tools of the set would cost in every request. */
  direct_tokens?: number
}

export interface Model {
  id: string
  owned_by: string
  description?: string
  error?: string
  status?: string | null
  tools?: ModelTools
}

export interface Fault {
  code: string
  message: string
}

/** A step of a call, or of an agent that works for one: ToolEvent of the API. */
export interface ToolEvent {
  type: string
  call_id: string
  tool?: string
  arguments?: unknown
  ok?: boolean
  result?: unknown
  error?: Fault
  latency_ms?: number
  agent?: string
  depth?: number
  parent_call_id?: string
  text?: string
  approval_id?: string
  expires_at?: string
  may_decide?: boolean
  truncated?: boolean
  round?: number
  usage?: { input_tokens: number; output_tokens: number; cache_read_tokens: number }
}

export interface Usage {
  prompt_tokens: number
  completion_tokens: number
  prompt_tokens_details?: { cached_tokens?: number }
  completion_tokens_details?: { reasoning_tokens?: number }
}

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  [field: string]: unknown
}

export type Piece =
  | { kind: 'begun'; ignored: string[] }
  | { kind: 'text' | 'thinking' | 'refusal'; text: string }
  | { kind: 'event'; event: ToolEvent }
  | { kind: 'usage'; usage: Usage }
  | { kind: 'finish'; reason: string }

/** How long a call that needs approval waits for the decision, in seconds: what the API allows at most. */
export const approvalWait = 600

/** newId is an id that others do not guess. */
export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, '0')).join('')

/** chat yields the pieces of the answer. An error within the stream is thrown as an ApiError. */
export async function* chat(request: ChatRequest, id: string, signal: AbortSignal): AsyncGenerator<Piece> {
  const response = await fetchApi('/v1/chat/completions', {
    body: { ...request, stream: true, stream_options: { include_usage: true } },
    headers: {
      Accept: 'text/event-stream',
      'X-Request-Id': id,
      'X-Spiced-Events': 'include',
      Prefer: `wait=${approvalWait}`,
    },
    signal,
  })
  const ignored = response.headers.get('X-Spiced-Ignored')
  yield { kind: 'begun', ignored: ignored ? ignored.split(/,\s*/) : [] }
  const events = readEvents(response.body!)
  for (;;) {
    let next
    try {
      next = await events.next()
    } catch (cause) {
      if (signal.aborted) throw cause
      throw new ApiError(0, 'unreachable', 'The connection to the runtime was lost while it answered.')
    }
    if (next.done) throw new ApiError(0, 'stream_broken', 'The answer ended before it was complete.')
    if (next.value.data === '[DONE]') return
    yield* pieces(next.value.data)
  }
}

function* pieces(data: string): Generator<Piece> {
  let chunk: any
  try {
    chunk = JSON.parse(data)
  } catch {
    throw new ApiError(0, 'stream_broken', 'The runtime sent an event that is not JSON.', data.slice(0, 200))
  }
  if (chunk.error) throw new ApiError(0, chunk.error.code ?? chunk.error.type ?? '', chunk.error.message ?? data)
  if (chunk.spiced_event) yield { kind: 'event', event: chunk.spiced_event }
  for (const { delta, finish_reason } of chunk.choices ?? []) {
    if (delta?.content) yield { kind: 'text', text: delta.content }
    if (delta?.reasoning_content) yield { kind: 'thinking', text: delta.reasoning_content }
    if (delta?.refusal) yield { kind: 'refusal', text: delta.refusal }
    if (finish_reason) yield { kind: 'finish', reason: finish_reason }
  }
  if (chunk.usage) yield { kind: 'usage', usage: chunk.usage }
}

/** cancelRequest ends a chat with everything that runs for it. One that has ended is no error. */
export async function cancelRequest(id: string) {
  await api(`/v1/requests/${encodeURIComponent(id)}:cancel`, { method: 'POST' }).catch((error: unknown) => {
    if (!(error instanceof ApiError && error.status === 404)) throw error
  })
}
