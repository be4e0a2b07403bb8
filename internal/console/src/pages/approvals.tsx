// The approvals of calls: all that the key may see, and one with its decision.
import { api } from '../lib/api.ts'
import { approvalPath, decide, decisionOf, refusedFor } from '../lib/chatapproval.ts'
import { ago, clock, millis, time } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { href, param, segments, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Badge, Equivalent, Failure, requestSnippets } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { ApprovalCard, statusTones, type Approval } from '../views/approval.tsx'
import { useFocusReload } from './chatapproval.tsx'

export default function Approvals() {
  const id = segments.value[1]
  return id === undefined ? <List /> : <One key={id} id={id} />
}

const statuses = ['pending', 'approved', 'denied', 'used', 'expired']

const columns: Column<Approval>[] = [
  {
    key: 'tool',
    title: 'Tool',
    value: a => a.tool,
    show: a => (
      <a class="foreign" href={href(['approvals', a.id])}>
        {shown(a.tool, 80)}
      </a>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    value: a => a.status,
    show: a => <Badge tone={statusTones[a.status]}>{a.status}</Badge>,
  },
  { key: 'risk', title: 'Risk', value: a => a.risk },
  { key: 'arguments', title: 'Arguments', value: a => JSON.stringify(a.arguments) },
  { key: 'asked_by', title: 'Asked by', value: a => a.asked_by },
  {
    key: 'for',
    title: 'For',
    value: a => [a.user_id === a.asked_by ? '' : a.user_id, a.space_id].filter(Boolean).join(', '),
  },
  { key: 'agent', title: 'Agent or model', value: a => a.agent || a.model },
  {
    key: 'asked',
    title: 'Asked',
    value: a => time(a.asked_at),
    show: a => <span title={clock(a.asked_at)}>{ago(a.asked_at)}</span>,
  },
  {
    key: 'expires',
    title: 'Expires',
    value: a => time(a.expires_at),
    show: a => <span title={clock(a.expires_at)}>{until(a)}</span>,
  },
  { key: 'decided_by', title: 'Decided by', value: a => a.decided_by },
]

/** until is when an approval that is open expires. */
function until({ status, expires_at }: Approval): string {
  const left = +(time(expires_at) ?? 0) - Date.now()
  return left > 0 && (status === 'pending' || status === 'approved') ? `in ${millis(left)}` : ago(expires_at)
}

function List() {
  const status = param('status')
  const path = '/v1/approvals' + (status ? `?status=${encodeURIComponent(status)}` : '')
  const list = useLoad(signal => api<Approval[]>(path, { signal }), [path], ['approval'])
  useFocusReload(list.reload)
  return (
    <>
      <div class="head">
        <h1 class="grow">Approvals</h1>
        <Equivalent
          make={() => [
            ...requestSnippets({ method: 'GET', path }),
            {
              title: 'SQL',
              text: `SELECT * FROM spiced.approvals${status ? ` WHERE status = '${status.replaceAll("'", "''")}'` : ''} ORDER BY asked_at DESC`,
            },
          ]}
        />
      </div>
      <p class="soft">
        Calls that wait for a person, and those that were decided. A tool asks for it with{' '}
        <code>requires_approval</code>.
      </p>
      <Failure error={list.error} again={list.reload} />
      {list.data || list.error ? (
        <Table
          label="Approvals"
          columns={columns}
          rows={list.data ?? []}
          id={a => a.id}
          sort="-asked"
          filter="Filter approvals"
          empty={status ? `There are none that are ${status}.` : 'No call has asked for approval.'}
          tools={
            <label class="row">
              Status
              <select value={status} onChange={e => setParams({ status: e.currentTarget.value })}>
                <option value="">all</option>
                {statuses.map(s => (
                  <option key={s}>{s}</option>
                ))}
              </select>
            </label>
          }
        />
      ) : (
        <p class="soft">Loading…</p>
      )}
    </>
  )
}

function One({ id }: { id: string }) {
  const path = approvalPath(id)
  const loaded = useLoad(signal => api<Approval>(path, { signal }), [path], ['approval'])
  useFocusReload(loaded.reload)
  const a = loaded.data
  const refused = a && refusedFor(a)
  return (
    <>
      <div class="head">
        <h1 class="grow">Approval</h1>
        <a href={href(['approvals'])}>All approvals</a>
        {a && (
          <Equivalent
            make={() => [
              ...requestSnippets({ method: 'POST', path, body: decisionOf('approve', 'checked') }),
              { title: 'SQL', text: `SELECT * FROM spiced.approvals WHERE id = '${a.id.replaceAll("'", "''")}'` },
            ]}
          />
        )}
      </div>
      <Failure error={loaded.error} again={loaded.reload} />
      {!a && loaded.loading && <p class="soft">Loading…</p>}
      {a && (
        <ApprovalCard
          approval={a}
          {...(refused ? { refused } : {})}
          decide={async (verdict, note) => {
            await decide(a.id, verdict, note)
            loaded.reload()
          }}
        />
      )}
      {a?.status === 'approved' && (
        <p class="soft">Nothing has run. The caller repeats the call, which uses the approval.</p>
      )}
    </>
  )
}
