// What all views inside chats share: the connection to the client, the states before a result is there,
// and the call that waits for approval. Approving is not possible here: the client's connection is the
// model's, too, so the runtime could not tell the person from the model (docs/decisions/0109).
import { render, type ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { LongText } from '../ui/foreign.tsx'
import { ApprovalCard, type Approval } from '../views/approval.tsx'
import { Host, type CallToolResult, type HostContext } from './host.ts'
import '../style.css'
import './frame.css'

export interface Call {
  tool: string
  arguments: Record<string, unknown>
  result: CallToolResult
}

/** textOf is the text of a result. */
export const textOf = (r: CallToolResult): string =>
  (r.content ?? []).map(c => (c.type === 'text' ? (c.text ?? '') : `[${c.type}]`)).join('\n')

/** valueOf is the JSON of a result: its structured content, or else its text. */
export function valueOf(r: CallToolResult): unknown {
  const structured = r.structuredContent
  if (structured) return Object.keys(structured).length === 1 && 'result' in structured ? structured.result : structured
  try {
    return JSON.parse(r.content?.[0]?.text ?? '')
  } catch {
    return undefined
  }
}

/** show runs a view: draw makes its content of a call that succeeded, or nothing if it has no such content. */
export function show(draw: (call: Call) => ComponentChildren) {
  render(<Frame draw={draw} />, document.getElementById('app')!)
}

function Frame({ draw }: { draw: (call: Call) => ComponentChildren }) {
  const [context, setContext] = useState<HostContext>({})
  const [input, setInput] = useState<Record<string, unknown>>({})
  const [result, setResult] = useState<CallToolResult>()
  const [fault, setFault] = useState('')
  const [host] = useState(
    () =>
      new Host({
        context: changed => setContext(c => ({ ...c, ...changed })),
        input: setInput,
        result: setResult,
        cancelled: reason => setFault(`The call was cancelled. ${reason}`),
      }),
  )
  useEffect(() => void host.connect().catch((e: Error) => setFault(e.message)), [])
  useEffect(() => {
    document.documentElement.dataset.theme = context.theme ?? 'system'
  }, [context.theme])
  if (fault) return <p role="alert">{fault}</p>
  if (!result) return <p class="soft">Waiting for the result…</p>
  const approval = approvalOf(result, input)
  if (approval) return <Waits approval={approval.card} url={approval.url} host={host} />
  const drawn = draw({ tool: context.toolInfo?.tool.name ?? '', arguments: input, result })
  if (!result.isError) return <>{drawn ?? <LongText text={textOf(result)} />}</>
  return (
    <>
      <div class="note bad" role="alert">
        <LongText text={textOf(result)} />
      </div>
      {drawn}
    </>
  )
}

/** approvalOf is the approval that a result says its call needs. */
function approvalOf(r: CallToolResult, input: Record<string, unknown>): { card: Approval; url: string } | undefined {
  const needs = r._meta?.['spiced/approval'] as
    | {
        approval_id: string
        expires_at: string
        would_run?: { tool: string; arguments: unknown; plan?: any }
      }
    | undefined
  if (!needs?.approval_id) return undefined
  const card: Approval = {
    id: needs.approval_id,
    tool: needs.would_run?.tool ?? '',
    arguments: needs.would_run?.arguments ?? input,
    status: 'pending',
    expires_at: needs.expires_at,
  }
  if (needs.would_run?.plan) card.plan = needs.would_run.plan
  return { card, url: String(r._meta?.['spiced/console'] ?? '') }
}

function Waits({ approval, url, host }: { approval: Approval; url: string; host: Host }) {
  const [failed, setFailed] = useState('')
  return (
    <div class="stack">
      <ApprovalCard approval={approval} />
      {url && host.canOpen ? (
        <div class="row">
          <button
            type="button"
            class="primary"
            onClick={() => host.open(url).catch((e: Error) => setFailed(e.message))}
          >
            Decide in the console
          </button>
          <span role="alert">{failed}</span>
        </div>
      ) : (
        <p class="soft">
          An approver decides in the console, at <code>/ui/approvals/{approval.id}</code>; then the call is repeated.
        </p>
      )}
    </div>
  )
}
