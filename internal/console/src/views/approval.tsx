// A call that waits for a person: what it would do, who asks, and the decision. It shows data that it
// is given, and knows nothing of where they come from.
import { useEffect, useId, useState } from 'preact/hooks'
import { clock, millis, time } from '../lib/format.ts'
import { visible } from '../lib/text.ts'
import { Foreign, Json, LongText } from '../ui/foreign.tsx'
import './approval.css'

/** Approval as GET /v1/approvals/{id} has it; an event of a chat has its beginning. */
export interface Approval {
  id: string
  tool: string
  arguments: unknown
  status: 'pending' | 'approved' | 'denied' | 'used' | 'expired'
  risk?: 'read' | 'write' | 'destructive'
  asked_by?: string
  user_id?: string
  space_id?: string
  agent?: string
  model?: string
  asked_at?: string
  expires_at: string
  checksum?: string
  plan?: Record<string, unknown>
  decided_by?: string
  decided_at?: string
  used_at?: string
  note?: string
}

export type Verdict = 'approve' | 'deny'

interface Props {
  approval: Approval
  /** Decides; a rejection is shown. Without it, nothing can be decided here. */
  decide?: (verdict: Verdict, note: string) => Promise<void>
  /** Why the reader may not decide. */
  refused?: string
}

export const statusTones = { pending: 'warn', approved: 'good', denied: 'bad', used: 'good', expired: '' } as const
const risks = { read: '', write: 'warn', destructive: 'bad' }
export const maxNote = 4096 // bytes

export function ApprovalCard({ approval: a, decide, refused }: Props) {
  const id = useId()
  const open = a.status === 'pending' || a.status === 'approved'
  return (
    <section class="approval panel" aria-labelledby={id}>
      <div class="title">
        <h2 id={id}>
          {a.status === 'pending' ? 'Needs approval: ' : ''}
          <code class="foreign">
            <Foreign text={a.tool} max={120} />
          </code>
        </h2>
        <div class="row">
          {a.risk && <span class={`badge ${risks[a.risk] ?? ''}`}>{a.risk}</span>}
          <span class={`badge ${statusTones[a.status] ?? ''}`}>{a.status}</span>
          {open && <Expiry at={a.expires_at} />}
        </div>
      </div>
      <div>
        <p class="label small soft">Arguments</p>
        <Json value={a.arguments} max={4000} />
      </div>
      {typeof a.plan?.sql === 'string' && (
        <div>
          <p class="label small soft">It would run</p>
          <LongText text={a.plan.sql} />
        </div>
      )}
      <Facts approval={a} />
      {a.plan && Object.keys(a.plan).some(k => k !== 'sql') && (
        <details>
          <summary>The whole plan</summary>
          <Json value={a.plan} />
        </details>
      )}
      {open && (decide && !refused ? <Decide decide={decide} status={a.status} /> : <Refused why={refused} />)}
    </section>
  )
}

const Refused = ({ why }: { why: string | undefined }) => (
  <p class="note warn" role="note">
    {why ?? 'It cannot be decided here.'}
  </p>
)

function Facts({ approval: a }: { approval: Approval }) {
  const facts: [string, string | undefined][] = [
    ['Asked by', a.asked_by],
    ['For the user', a.user_id],
    ['In the space', a.space_id],
    ['Agent', a.agent],
    ['Model', a.model],
    ['Asked', a.asked_at && clock(a.asked_at)],
    ['Expires', a.expires_at && clock(a.expires_at)],
    ['Decided by', a.decided_at && (a.decided_by || 'someone without a key')],
    ['Decided', a.decided_at && clock(a.decided_at)],
    ['Used', a.used_at && clock(a.used_at)],
    ['Note', a.note],
    ['Checksum of the tool', a.checksum],
    ['Id', a.id],
  ]
  return (
    <dl class="definition small">
      {facts.map(
        ([term, value]) =>
          value && (
            <>
              <dt>{term}</dt>
              <dd>
                <Foreign text={value} max={4096} />
              </dd>
            </>
          ),
      )}
    </dl>
  )
}

/** Expiry counts down, by the second when little time is left. */
function Expiry({ at }: { at: string }) {
  const [now, setNow] = useState(Date.now())
  const left = +(time(at) ?? 0) - now
  useEffect(() => {
    if (left <= 0) return
    const timer = setTimeout(() => setNow(Date.now()), left < 120_000 ? 1000 : 30_000)
    return () => clearTimeout(timer)
  }, [now, at])
  return (
    <span class="small soft nowrap">
      {left > 0 ? `expires in ${millis(Math.ceil(left / 1000) * 1000)}` : 'expired'}
    </span>
  )
}

function Decide({ decide, status }: { decide: NonNullable<Props['decide']>; status: Approval['status'] }) {
  const [note, setNote] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState('')
  const long = new TextEncoder().encode(note).length > maxNote
  const act = (verdict: Verdict) => async () => {
    setBusy(true)
    setError('')
    try {
      await decide(verdict, note)
    } catch (e) {
      const hint = (e as { hint?: string }).hint
      setError((e as Error).message + (hint ? ` (${hint})` : ''))
    } finally {
      setBusy(false)
    }
  }
  return (
    <div class="stack">
      <label class="field">
        Note, for the caller and the record
        <input type="text" value={note} maxLength={maxNote} onInput={e => setNote(e.currentTarget.value)} />
      </label>
      <div class="row">
        {status === 'pending' && (
          <button type="button" class="primary" disabled={busy || long} onClick={act('approve')}>
            Approve
          </button>
        )}
        <button type="button" class="danger" disabled={busy || long} onClick={act('deny')}>
          {status === 'approved' ? 'Deny after all' : 'Deny'}
        </button>
        {long && <span class="small">The note is longer than {maxNote} bytes.</span>}
      </div>
      {error && (
        <p class="note bad" role="alert">
          <span class="foreign">{visible(error)}</span>
        </p>
      )}
    </div>
  )
}
