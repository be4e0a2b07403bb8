// The timeline of an answer, made of the events of its stream in the order of their arrival.
import type { Lane, Response, State, Step } from '../views/timeline.tsx'
import type { ToolEvent } from './chat.ts'

const maxSteps = 2000 // calls and agents of an answer that are kept; more are counted
const maxText = 256 << 10 // characters of the answer of an agent
const earlyBy = 5 // ms; a call that begins with the last tokens of a response is not early

export class Steps {
  readonly lane: Lane
  /** Calls and agents that are not shown, as there are too many. */
  dropped = 0
  /** Types of events that this page does not know. */
  readonly unknown = new Set<string>()
  private readonly lanes = new Map<string, Lane>()
  private readonly steps = new Map<string, Step>()
  private inRound: { step: Step; arrived: number }[] = [] // calls of the response that runs or has ended last
  private pending = 0 // of these that have no result

  constructor(model: string) {
    this.lane = { id: '', name: model, agent: false, state: 'running', from: 0, responses: [{ from: 0 }], steps: [] }
  }

  get empty(): boolean {
    return this.lane.steps.length === 0
  }

  add(e: ToolEvent, at: number) {
    switch (e.type) {
      case 'tool_call':
        if (this.call(this.lane, e, at)) this.pending++
        return
      case 'agent_tool_call':
        this.call(this.lanes.get(e.parent_call_id ?? ''), e, at)
        return
      case 'tool_result':
      case 'agent_tool_result':
        return this.result(e, at)
      case 'response_end':
        return this.responseEnd(e, at)
      case 'agent_start':
        return this.agentStart(e, at)
      case 'agent_chunk':
        return this.agentChunk(e)
      case 'agent_end':
        return this.agentEnd(e, at)
      case 'approval_required': {
        const step = this.steps.get(e.call_id)
        if (step && step.to === undefined) step.state = 'waiting'
        return
      }
    }
    this.unknown.add(e.type)
  }

  /** end closes what is open when the stream has ended. */
  end(at: number, state: State) {
    const open = state === 'ok' ? 'failed' : state
    const close = (lane: Lane) => {
      for (const r of lane.responses) r.to ??= at
      for (const s of lane.steps) {
        if (s.to === undefined) [s.to, s.state] = [at, open]
        s.lanes.forEach(close)
      }
      if (lane.to === undefined) [lane.to, lane.state] = [at, lane === this.lane ? state : open]
    }
    close(this.lane)
  }

  private full(): boolean {
    if (this.steps.size + this.lanes.size < maxSteps) return false
    this.dropped++
    return true
  }

  private call(lane: Lane | undefined, e: ToolEvent, at: number): boolean {
    if (this.full()) return false
    const owner = lane ?? this.lane // of an agent that does not show when it starts
    const step: Step = { id: e.call_id, tool: e.tool ?? '', state: 'running', from: at, lanes: [] }
    step.arguments = e.arguments
    step.truncated = e.truncated ?? false
    owner.steps.push(step)
    this.steps.set(e.call_id, step)
    if (owner === this.lane) this.inRound.push({ step, arrived: at })
    return true
  }

  private result(e: ToolEvent, at: number) {
    const step = this.steps.get(e.call_id)
    if (!step || step.to !== undefined) return
    step.to = at
    step.state = stateOf(e)
    step.result = e.result
    step.error = e.error
    if (e.latency_ms !== undefined) {
      step.latency = e.latency_ms
      // events that leave together arrive together; the runtime knows how long the call took
      const begin = this.lanes.get(e.parent_call_id ?? '')?.from ?? 0
      step.from = Math.max(begin, Math.min(step.from, at - e.latency_ms))
    }
    step.truncated ||= e.truncated ?? false
    countTokens(step)
    if (e.type !== 'tool_result' || --this.pending > 0) return
    if (this.lane.responses.at(-1)?.to !== undefined) this.respond(at)
  }

  private responseEnd(e: ToolEvent, at: number) {
    const response = this.lane.responses.at(-1)
    if (!response || response.to !== undefined) return
    response.to = at
    tokensOf(response, e)
    for (const { step, arrived } of this.inRound) {
      const early = at - arrived
      if (early >= earlyBy) step.early = early
    }
    if (this.inRound.length > 0 && this.pending <= 0) this.respond(at)
  }

  /** respond begins the next response: the model has all results. */
  private respond(at: number) {
    this.inRound = []
    this.pending = 0
    this.lane.responses.push({ from: at })
  }

  private agentStart(e: ToolEvent, at: number) {
    if (this.full()) return
    const lane: Lane = {
      id: e.call_id,
      name: e.agent ?? '',
      agent: true,
      state: 'running',
      from: at,
      responses: [],
      steps: [],
    }
    lane.task = e.text
    this.lanes.set(e.call_id, lane)
    const owner = this.steps.get(e.parent_call_id ?? '') ?? this.lane.steps.at(-1)
    if (!owner) return
    owner.lanes.push(lane)
    owner.lanes.sort((a, b) => numberOf(a) - numberOf(b)) // in the order of the tasks
  }

  private agentChunk(e: ToolEvent) {
    const lane = this.lanes.get(e.call_id)
    if (lane && (lane.text ?? '').length < maxText) lane.text = (lane.text ?? '') + (e.text ?? '')
  }

  private agentEnd(e: ToolEvent, at: number) {
    const lane = this.lanes.get(e.call_id)
    if (!lane || lane.to !== undefined) return
    lane.to = at
    lane.state = stateOf(e)
    lane.error = e.error
    if (e.result !== undefined) lane.text = typeof e.result === 'string' ? e.result : JSON.stringify(e.result, null, 2)
  }
}

const stateOf = (e: ToolEvent): State => (e.ok ? 'ok' : e.error?.code === 'cancelled' ? 'stopped' : 'failed')

/** numberOf is the number of an agent's task in its delegation, from 1; 0 if it is the only one. */
const numberOf = (lane: Lane): number => Number(/\.(\d+)$/.exec(lane.id)?.[1] ?? 0)

function tokensOf(response: Response, { usage }: ToolEvent) {
  if (!usage) return
  response.prompt = usage.input_tokens
  response.cached = usage.cache_read_tokens
  response.completion = usage.output_tokens
}

/** countTokens gives agents the tokens that the result of their delegation counts. */
function countTokens(step: Step) {
  const result = step.result as any
  const list: any[] = Array.isArray(result?.results) ? result.results : [result]
  for (const lane of step.lanes) {
    const tokens = list[Math.max(1, numberOf(lane)) - 1]?.metrics?.tokens
    if (typeof tokens === 'number') lane.tokens = tokens
  }
}
