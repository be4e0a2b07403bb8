// An approval that an answer waits for, as it is now.
import { useEffect } from 'preact/hooks'
import { api, caller } from '../lib/api.ts'
import { approvalPath, decide, decisionOf, refusedFor } from '../lib/chatapproval.ts'
import type { Asked } from '../lib/chatstore.ts'
import { useLoad } from '../lib/load.ts'
import { href } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Badge, Equivalent, Failure, requestSnippets } from '../ui/parts.tsx'
import { ApprovalCard, statusTones, type Approval } from '../views/approval.tsx'

export function LiveApproval({ asked, waits }: { asked: Asked; waits: boolean }) {
  const path = approvalPath(asked.id)
  const loaded = useLoad(signal => api<Approval>(path, { signal }), [path, waits], ['approval'])
  useFocusReload(loaded.reload)
  // until it is loaded, what the event says
  const a: Approval = loaded.data ?? { ...asked, status: 'pending' }
  const open = a.status === 'pending' || a.status === 'approved'
  const refused =
    refusedFor(a) ??
    (asked.may_decide || caller.value?.keys === false || caller.value?.may_approve
      ? undefined
      : 'Keys are needed to decide, and this one may not.')
  const card = (
    <ApprovalCard
      approval={a}
      {...(refused ? { refused } : {})}
      decide={async (verdict, note) => {
        await decide(a.id, verdict, note)
        loaded.reload()
      }}
    />
  )
  if (!open)
    return (
      <details>
        <summary>
          Approval of <code class="foreign">{shown(a.tool, 80)}</code>{' '}
          <Badge tone={statusTones[a.status]}>{a.status}</Badge>
        </summary>
        {card}
        <a href={href(['approvals', a.id])}>Open it under Approvals</a>
      </details>
    )
  return (
    <div class="stack">
      {a.status === 'pending' && waits && (
        <span class="visually-hidden" role="alert">
          The call of {shown(a.tool, 80)} needs approval.
        </span>
      )}
      {card}
      <Failure error={loaded.error} again={loaded.reload} />
      <div class="row small">
        {a.status === 'pending' && !waits && (
          <span>The chat waits no longer. Once approved, send the message again.</span>
        )}
        <a href={href(['approvals', a.id])}>Open it under Approvals</a>
        <Equivalent make={() => requestSnippets({ method: 'POST', path, body: decisionOf('approve', 'checked') })} />
      </div>
    </div>
  )
}

/** useFocusReload reads again what may have changed while the page was not looked at. */
export function useFocusReload(reload: () => void) {
  useEffect(() => {
    addEventListener('focus', reload)
    return () => removeEventListener('focus', reload)
  }, [reload])
}
