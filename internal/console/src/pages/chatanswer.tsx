// A message of the user and its answer.
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../lib/api.ts'
import type { Model } from '../lib/chat.ts'
import { changed, counts, remove, requestOf, running, send, stop, turns, versionOf } from '../lib/chatstore.ts'
import type { Answer, Settings, Turn } from '../lib/chatstore.ts'
import { brief, count, millis, plural } from '../lib/format.ts'
import { Markdown } from '../lib/markdown.tsx'
import { shown } from '../lib/text.ts'
import { Twice, Copy, Equivalent, Failure, Foreign, LongText, requestSnippets } from '../ui/parts.tsx'
import { sizeOf, Timeline, type Lane } from '../views/timeline.tsx'
import { LiveApproval } from './chatapproval.tsx'

interface Props {
  turn: Turn
  at: number
  model: Model | undefined
  settings: Settings
}

export function TurnView({ turn, at, model, settings }: Props) {
  const [edited, setEdited] = useState<string | null>(null)
  const busy = running.value !== undefined
  const again = (text: string) => {
    if (!model || busy || text.trim() === '') return
    setEdited(null)
    send(model.id, text.trim(), settings, at)
  }
  const replaced = turns.value.length - at - 1
  return (
    <article class="turn" aria-label={`Message ${at + 1}`}>
      <div class="said">
        {edited === null ? (
          <LongText text={turn.text} />
        ) : (
          <form
            class="stack"
            onSubmit={e => {
              e.preventDefault()
              again(edited)
            }}
          >
            <label class="field">
              Message
              <textarea
                ref={focusNew}
                rows={4}
                value={edited}
                onInput={e => setEdited(e.currentTarget.value)}
                onKeyDown={e => e.key === 'Escape' && setEdited(null)}
              />
            </label>
            <div class="row">
              <button class="primary" disabled={!model || busy || edited.trim() === ''}>
                Send again
              </button>
              <button type="button" onClick={() => setEdited(null)}>
                Cancel
              </button>
              {replaced > 0 && <span class="soft small">It replaces {plural(replaced, 'later message')}.</span>}
            </div>
          </form>
        )}
        {edited === null && (
          <div class="row small">
            <button type="button" class="plain" disabled={busy} onClick={() => setEdited(turn.text)}>
              Edit
            </button>
            <button type="button" class="plain" disabled={busy || !model} onClick={() => again(turn.text)}>
              Send again{replaced > 0 ? `, without ${plural(replaced, 'later message')}` : ''}
            </button>
            <Twice label="Remove" class="plain" disabled={busy} act={() => remove(turn)} />
            <Equivalent
              make={() =>
                requestSnippets({
                  method: 'POST',
                  path: '/v1/chat/completions',
                  body: requestOf(turn.model, turns.value.slice(0, at), turn.text, settings),
                })
              }
            />
          </div>
        )}
      </div>
      <AnswerView turn={turn} />
    </article>
  )
}

/** focusNew gives a field the focus when it appears. */
const focusNew = (field: HTMLElement | null) => field?.focus()

function size(lane: Lane): string {
  const { calls, agents } = sizeOf(lane)
  return plural(calls, 'call') + (agents > 0 ? `, ${plural(agents, 'agent')}` : '')
}

const tick = 250 // ms between two looks at the clock while nothing arrives

function AnswerView({ turn }: { turn: Turn }) {
  const { answer: a } = turn
  void versionOf(a).value // shown again when it changes
  const runs = a.state === 'running'
  useEffect(() => {
    if (!runs) return
    const timer = setInterval(() => changed(a), tick)
    return () => clearInterval(timer)
  }, [runs])
  const now = runs ? Date.now() - a.began : a.took
  return (
    <div class="answer">
      <div class="row">
        <h2>
          <Foreign text={turn.model} max={80} />
        </h2>
        <span class="soft small">{runs ? <Progress answer={a} now={now} /> : <Outcome turn={turn} />}</span>
      </div>
      {a.lane.steps.length > 0 && (
        <details open class="steps">
          <summary>{size(a.lane)}</summary>
          <Timeline
            lane={a.lane}
            now={now}
            action={lane =>
              runs && 'agent' in lane && lane.agent && lane.state === 'running' ? (
                <button
                  type="button"
                  class="danger"
                  aria-label={`Stop the run of ${shown(lane.name, 40)}`}
                  onClick={() => void stop()}
                >
                  Stop
                </button>
              ) : null
            }
          />
          {a.dropped > 0 && <p class="note warn">{plural(a.dropped, 'further call')} are not shown.</p>}
        </details>
      )}
      {a.asked.map(asked => (
        <LiveApproval key={asked.id} asked={asked} waits={runs} />
      ))}
      {a.thinking && (
        <details>
          <summary>Thinking, {plural(a.thinking.length, 'character')}</summary>
          <LongText text={a.thinking} />
        </details>
      )}
      {a.text && <Markdown key={a.id} text={a.text} ended={!runs} />}
      {a.refusal && (
        <div class="note warn">
          <strong>The model refuses.</strong>
          <span>
            <Foreign text={a.refusal} max={4000} />
          </span>
        </div>
      )}
      <Notes turn={turn} />
    </div>
  )
}

function Progress({ answer: a, now }: { answer: Answer; now: number }) {
  const waits = a.lane.steps.some(
    s => s.state === 'waiting' || s.lanes.some(l => l.steps.some(x => x.state === 'waiting')),
  )
  const what = waits ? 'waits for approval' : a.lane.steps.some(s => s.to === undefined) ? 'calls tools' : 'answers'
  return (
    <>
      {what}, {millis(Math.floor(now / 100) * 100)}
    </>
  )
}

function Outcome({ turn: { answer: a } }: { turn: Turn }) {
  const u = a.usage
  const ofAgents = a.lane.steps.flatMap(s => s.lanes).reduce((n, lane) => n + (lane.tokens ?? 0), 0)
  return (
    <>
      {millis(a.took)}
      {a.first !== undefined && `, first text after ${millis(a.first)}`}
      {u &&
        `, ${count(u.prompt_tokens)} prompt tokens (${brief(u.prompt_tokens_details?.cached_tokens ?? 0)} cached), ` +
          `${count(u.completion_tokens)} completion tokens`}
      {u && a.lane.responses.length > 1 && ` in ${plural(a.lane.responses.length, 'request')}`}
      {ofAgents > 0 && `, ${count(ofAgents)} tokens of its agents`}
      {a.text && (
        <>
          {' '}
          <Copy text={a.text} label="Copy the text" />
        </>
      )}
    </>
  )
}

function Notes({ turn }: { turn: Turn }) {
  const { answer: a } = turn
  const notes: string[] = []
  if (a.reason === 'length') notes.push('The answer is cut off: it has as many tokens as it may have.')
  if (a.reason === 'content_filter') notes.push('The provider withholds the rest of the answer.')
  if (a.ignored.length > 0) notes.push(`Without effect at this model’s provider: ${a.ignored.join(', ')}.`)
  if (a.unknown.length > 0) notes.push(`Events that this page does not know: ${a.unknown.join(', ')}.`)
  if (a.state === 'stopped') notes.push('It was stopped.')
  if (a.state === 'done' && !a.text && !a.refusal) notes.push('The model has answered nothing.')
  if (a.state !== 'running' && !counts(turn)) notes.push('This message is not part of further requests.')
  const f = a.fault
  return (
    <>
      {f && a.state === 'failed' && <Failure error={new ApiError(f.status, f.code, f.message, f.hint)} />}
      {notes.map(text => (
        <p key={text} class="note small">
          <Foreign text={text} max={1000} />
        </p>
      ))}
    </>
  )
}
