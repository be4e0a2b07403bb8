// Approvals of calls: how they are read and decided, and who may.
import type { Approval, Verdict } from '../views/approval.tsx'
import { api, caller, type Caller } from './api.ts'

export const approvalPath = (id: string): string => `/v1/approvals/${encodeURIComponent(id)}`

export const decisionOf = (verdict: Verdict, note: string): Record<string, string> =>
  note ? { decision: verdict, note } : { decision: verdict }

export const decide = (id: string, verdict: Verdict, note: string): Promise<Approval> =>
  api<Approval>(approvalPath(id), { body: decisionOf(verdict, note) })

/** refusedFor is why the key of this page may not decide about an approval, if that is known before it tries. */
export function refusedFor(a: Approval, who: Caller | null = caller.value): string | undefined {
  if (!who?.keys) return undefined
  if (!who.may_approve)
    return 'This key may not decide: it is not that of an approver. runtime.auth.approvers lists who decides.'
  if (who.principal && who.principal === a.asked_by)
    return 'This key may not decide: an approver cannot decide about calls of the same principal. Ask another approver.'
  return undefined
}
