// What a model and its agents do, in time: a lane for each of them, with its responses, and a row for
// each call. A call whose bar begins before that of the response ends was dispatched early. It shows
// data that it is given, and knows nothing of where they come from.
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { brief, millis, plural } from '../lib/format.ts'
import { shown } from '../lib/text.ts'
import { Foreign, Json, LongText } from '../ui/foreign.tsx'
import './timeline.css'

/** A stretch of time, in milliseconds since the timeline begins. It runs while it has no end. */
export interface Span {
  from: number
  to?: number
}

/** A response of a model: from the request until its last token. */
export interface Response extends Span {
  prompt?: number // tokens
  cached?: number
  completion?: number
}

export type State = 'running' | 'waiting' | 'ok' | 'failed' | 'stopped'

/** A call of a tool. */
export interface Step extends Span {
  id: string
  tool: string
  state: State
  arguments?: unknown
  result?: unknown
  error?: { code: string; message: string }
  truncated?: boolean
  /** How long the tool itself took, in ms, as the runtime has measured it. */
  latency?: number
  /** How long before the end of the response it began, in ms. */
  early?: number
  /** The agents that work for it. */
  lanes: Lane[]
}

/** What one model or agent does. */
export interface Lane extends Span {
  id: string
  name: string
  agent: boolean
  state: State
  task?: string
  text?: string
  error?: { code: string; message: string }
  tokens?: number
  responses: Response[]
  steps: Step[]
}

/** sizeOf counts the calls and the agents of a lane and below it. */
export function sizeOf(lane: Lane): { calls: number; agents: number } {
  const size = { calls: lane.steps.length, agents: 0 }
  for (const inner of lane.steps.flatMap(s => s.lanes)) {
    const { calls, agents } = sizeOf(inner)
    size.calls += calls
    size.agents += agents + 1
  }
  return size
}

interface Props {
  lane: Lane
  /** The time that is now, in ms since the beginning. */
  now: number
  /** What stands next to a lane or a call, such as a button that stops it. */
  action?: (at: Lane | Step) => ComponentChildren
}

const maxRows = 200 // calls of a lane that are shown at first
const minAxis = 400 // ms
const marks = 4

/** The end of the axis grows in steps, so that bars move rarely while time passes. */
const axis = (now: number): number => {
  let end = minAxis
  while (end < now) end *= 1.5
  return end
}

export function Timeline({ lane, now, action }: Props) {
  const end = lane.to === undefined ? axis(now) : Math.max(1, lane.to)
  return (
    <div class="timeline">
      <div class="time small soft" aria-hidden="true">
        {Array.from({ length: marks }, (_, i) => (
          <span key={i}>{i === 0 ? '0' : millis((end * i) / marks)}</span>
        ))}
        <span>{millis(end)}</span>
      </div>
      <LaneRows lane={lane} end={end} now={now} action={action} level={0} />
    </div>
  )
}

interface RowProps extends Props {
  end: number
  level: number
}

const tones: Record<State, string> = { running: 'accent', waiting: 'warn', ok: 'good', failed: 'bad', stopped: '' }
const words: Record<State, string> = {
  running: 'runs',
  waiting: 'waits',
  ok: 'done',
  failed: 'failed',
  stopped: 'stopped',
}

function LaneRows({ lane, end, now, action, level }: RowProps) {
  const [open, setOpen] = useState(false)
  const [all, setAll] = useState(false)
  const id = useId()
  const took = (lane.to ?? now) - lane.from
  const steps = all ? lane.steps : lane.steps.slice(0, maxRows)
  return (
    <div class={`lane ${level > 0 ? 'inner' : ''}`}>
      <div class="line first">
        <button type="button" class="name" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
          <b class="foreign clip">{shown(lane.name, 60)}</b>
          {lane.agent && <span class="soft small">agent</span>}
        </button>
        <div class="track" aria-hidden="true">
          {lane.agent && <i class={`bar lane-bar ${lane.state}`} style={place(lane, end, now)} />}
          {lane.responses.map((r, i) => (
            <i key={i} class={`bar response ${r.to === undefined ? 'running' : ''}`} style={place(r, end, now)} />
          ))}
        </div>
        <span class="took small">
          {action?.(lane)} <span class={`badge ${tones[lane.state]}`}>{words[lane.state]}</span> {millis(took)}
        </span>
      </div>
      {open && (
        <div id={id} class="detail">
          {lane.task !== undefined && <Part title="Task" text={lane.task} />}
          {lane.text && <Part title="Answer" text={lane.text} />}
          {lane.error && <Part title={`Error ${lane.error.code}`} text={lane.error.message} />}
          {lane.responses.map((r, i) => (
            <p key={i} class="small">
              Response {i + 1}: {millis((r.to ?? now) - r.from)}
              {r.prompt !== undefined &&
                `, ${brief(r.prompt)} prompt tokens (${brief(r.cached ?? 0)} cached), ${brief(r.completion)} completion tokens`}
            </p>
          ))}
          {lane.tokens !== undefined && <p class="small">{plural(lane.tokens, 'token')} in all.</p>}
          {!lane.agent && lane.responses.length === 0 && <p class="small soft">There is no response yet.</p>}
        </div>
      )}
      {steps.length > 0 && (
        <ul>
          {steps.map(step => (
            <li key={step.id}>
              <StepRow step={step} within={lane} end={end} now={now} action={action} level={level} />
            </li>
          ))}
        </ul>
      )}
      {lane.steps.length > maxRows && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? 'Show fewer calls' : `Show all ${plural(lane.steps.length, 'call')}`}
        </button>
      )}
    </div>
  )
}

interface StepProps extends Omit<RowProps, 'lane'> {
  step: Step
  within: Lane
}

function StepRow({ step, within, end, now, action, level }: StepProps) {
  const [open, setOpen] = useState(false)
  const id = useId()
  return (
    <>
      <div class="line">
        <button type="button" class="name" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
          <code class="foreign clip">{shown(step.tool, 80)}</code>
        </button>
        <div class="track" aria-hidden="true">
          {within.responses.map((r, i) => (
            <i key={i} class="bar shade" style={place(r, end, now)} />
          ))}
          <i class={`bar call ${step.state}`} style={place(step, end, now)} />
        </div>
        <span class="took small">
          {action?.(step)}{' '}
          {step.state !== 'ok' && <span class={`badge ${tones[step.state]}`}>{words[step.state]}</span>}
          {step.early !== undefined && (
            <span class="badge accent" title={`It began ${millis(step.early)} before the response ended.`}>
              early
            </span>
          )}{' '}
          {millis((step.to ?? now) - step.from)}
        </span>
      </div>
      {open && (
        <div id={id} class="detail">
          {step.early !== undefined && (
            <p class="small">It was dispatched early: it began {millis(step.early)} before the response ended.</p>
          )}
          {step.latency !== undefined && <p class="small">The tool took {millis(step.latency)}.</p>}
          <p class="label">Arguments</p>
          <Value value={step.arguments} />
          {step.error ? (
            <Part title={`Error ${shown(step.error.code, 60)}`} text={step.error.message} />
          ) : (
            step.state === 'ok' && (
              <>
                <p class="label">Result</p>
                <Value value={step.result} />
              </>
            )
          )}
          {step.truncated && <p class="small soft">The runtime sends the first 4 KiB of each value.</p>}
        </div>
      )}
      {step.lanes.map(lane => (
        <LaneRows key={lane.id} lane={lane} end={end} now={now} action={action} level={level + 1} />
      ))}
    </>
  )
}

function Part({ title, text }: { title: string; text: string }) {
  return (
    <>
      <p class="label">
        <Foreign text={title} />
      </p>
      <LongText text={text} />
    </>
  )
}

const Value = ({ value }: { value: unknown }) =>
  typeof value === 'string' ? <LongText text={value} /> : <Json value={value ?? null} />

function place(span: Span, end: number, now: number): { left: string; width: string } {
  const from = Math.min(span.from, end)
  const to = Math.min(span.to ?? now, end)
  return { left: `${(100 * from) / end}%`, width: `${(100 * Math.max(0, to - from)) / end}%` }
}
