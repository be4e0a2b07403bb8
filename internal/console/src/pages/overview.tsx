// What the runtime is and does now: its state, its faults, what loads, what runs, what changed.
import { useState } from 'preact/hooks'
import { api, caller, rows, type Problem } from '../lib/api.ts'
import { ago, brief, clock, count, millis, percent } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { useEvents } from '../lib/events.ts'
import { href } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { type DatasetStatus, LoadProgress, isLoading, statusPath } from '../ui/loading.tsx'
import {
  Badge,
  Empty,
  Equivalent,
  Failure,
  Figure,
  Foreign,
  Panel,
  ProblemNote,
  State,
  requestSnippets,
} from '../ui/parts.tsx'

interface Component {
  name: string
  endpoint: string
  status: string
  version?: string
  problems?: Problem[]
  waiting?: string[]
}

interface Generation {
  generation: number
  published: string
  trigger: string
  changed: string[] | null
  functions: number
  datasets: number
  views: number
  problems: number
}

interface Work {
  query_id: string
  kind: string
  protocol: string
  name?: string
  sql_preview: string
  started_at_ms: number
}

interface Totals {
  tools: number
  functions: number
  calls: number
  hour: number
  errors: number
  p95: number | null
}

const totals = `SELECT (SELECT count(*) FROM spiced.tools) AS tools, (SELECT count(*) FROM spiced.functions) AS functions,
  (SELECT coalesce(sum(calls), 0)::BIGINT FROM spiced.tool_usage) AS calls,
  count(*) AS hour, count(*) FILTER (NOT ok AND code <> 'approval_required') AS errors, quantile_cont(latency_ms, 0.95) AS p95
FROM spiced.tool_calls WHERE called_at > now()::TIMESTAMP - INTERVAL 1 HOUR`

const live = ['generation', 'status', 'dataset', 'index']

export default function Overview() {
  const status = useLoad(signal => api<Component[]>('/v1/status', { signal }), [], live)
  const data = useLoad(signal => api<DatasetStatus[]>(statusPath, { signal }), [], live)
  const history = useLoad(
    signal => rows<Generation>('SELECT * FROM spiced.generations ORDER BY generation DESC LIMIT 20', [], signal),
    [],
    ['generation'],
  )
  const figures = useLoad(signal => rows<Totals>(totals, [], signal), [], ['generation', 'call'])
  const problems = status.data?.flatMap(c => c.problems ?? []) ?? []
  const protocols = status.data?.filter(c => c.endpoint !== 'N/A' || c.status === 'Disabled') ?? []
  const last = history.data?.[0]
  // Each retry of a source makes a generation, mostly one that changes nothing.
  const changes = history.data?.filter(g => g === last || g.changed?.length) ?? []
  const t = figures.data?.[0]
  const again = () => [status, data, history, figures].forEach(loaded => loaded.error && loaded.reload())
  const loading = data.data?.filter(isLoading) ?? []
  return (
    <>
      <div class="head">
        <h1 class="grow">Overview</h1>
        <Reload />
      </div>
      <Failure error={status.error ?? data.error ?? history.error ?? figures.error} again={again} />
      <div class="figures">
        <Figure
          value={last ? count(last.generation) : '–'}
          label={last ? `generation, ${ago(last.published)}` : 'generation'}
        />
        <Figure value={count(data.data?.length)} label="datasets and views" />
        <Figure value={count(t?.functions)} label="functions" />
        <Figure value={count(t?.tools)} label="tools" />
        <Figure value={brief(t?.calls)} label="calls of tools" />
        <Figure value={t ? count(t.hour) : '–'} label="calls in the last hour" />
        <Figure value={t && t.hour > 0 ? percent(t.errors / t.hour) : '–'} label="of these failed" />
        <Figure value={millis(t?.p95)} label="95th percentile of their time" />
      </div>
      <Panel title={problems.length === 0 ? 'Problems' : `Problems (${problems.length})`}>
        {status.data && problems.length === 0 && <Empty>The last load found no problem.</Empty>}
        {problems.map((p, i) => (
          <ProblemNote key={i} problem={p} />
        ))}
      </Panel>
      {loading.length > 0 && (
        <Panel title="Loading">
          {loading.map(d => (
            <LoadingDataset key={d.name} dataset={d} />
          ))}
        </Panel>
      )}
      <div class="columns">
        <Running />
        <Panel title="Protocols">
          <dl class="definition">
            {protocols.map(c => [
              <dt key={c.name}>{c.name}</dt>,
              <dd key={c.name + 'd'} class="row">
                <State state={c.status} />
                {c.endpoint !== 'N/A' && <code>{c.endpoint}</code>}
              </dd>,
            ])}
          </dl>
        </Panel>
        <Panel title="Last changes">
          {changes.map(g => (
            <details key={g.generation} open={g === last}>
              <summary>
                Generation {g.generation}{' '}
                <span class="soft">
                  by {g.trigger}, {clock(g.published)}
                </span>{' '}
                {g.problems > 0 && <Badge tone="warn">{count(g.problems)} problems</Badge>}
              </summary>
              <ul class="changes" tabIndex={0} aria-label={`Changes of generation ${g.generation}`}>
                {(g.changed ?? []).slice(0, 100).map(c => (
                  <li key={c}>
                    <Foreign text={c} max={120} />
                  </li>
                ))}
                {(g.changed?.length ?? 0) > 100 && <li class="soft">and {g.changed!.length - 100} more</li>}
                {!g.changed?.length && <li class="soft">nothing</li>}
              </ul>
            </details>
          ))}
        </Panel>
      </div>
    </>
  )
}

function LoadingDataset({ dataset: d }: { dataset: DatasetStatus }) {
  return (
    <div>
      <a class="foreign" href={href(['data', d.name])}>
        {shown(d.name, 80)}
      </a>
      <LoadProgress dataset={d} />
    </div>
  )
}

/** Running lists what runs for this caller, and cancels it. */
function Running() {
  const work = useLoad(
    signal => api<{ queries: Work[] }>('/v1/sql/active', { signal }).then(x => x.queries),
    [],
    ['work'],
  )
  const [failed, setFailed] = useState<Error>()
  const cancel = (id: string) =>
    api(`/v1/sql/${encodeURIComponent(id)}/cancel`, { method: 'POST' }).then(
      () => work.reload(),
      (e: Error) => setFailed(e),
    )
  return (
    <Panel title="Running now">
      <Failure error={work.error ?? failed} />
      {work.data?.length === 0 && <Empty>Nothing of yours runs.</Empty>}
      <ul class="plain">
        {work.data?.map(w => (
          <li key={w.query_id} class="row">
            <Badge>{w.kind.replace('_', ' ')}</Badge>
            <span class="grow">
              <Foreign text={w.name || w.sql_preview} max={120} />
              <span class="soft small">
                {' '}
                {ago(w.started_at_ms)} by {w.protocol}
              </span>
            </span>
            <button
              type="button"
              class="danger"
              onClick={() => cancel(w.query_id)}
              aria-label={`Cancel ${shown(w.name || w.sql_preview, 60)}`}
            >
              Cancel
            </button>
          </li>
        ))}
      </ul>
    </Panel>
  )
}

/** Reload reads the Spicepod again. */
function Reload() {
  const [busy, setBusy] = useState(false)
  const [outcome, setOutcome] = useState<{ generation: number; changed: string[] }>()
  const [failed, setFailed] = useState<Error>()
  useEvents(['generation'], () => setFailed(undefined))
  const run = () => {
    setBusy(true)
    setFailed(undefined)
    api<{ generation: number; changed: string[] }>('/v1/reload', { method: 'POST' })
      .then(setOutcome, setFailed)
      .finally(() => setBusy(false))
  }
  const may = caller.value?.may_write !== false
  return (
    <>
      <span role="status" class="soft small">
        {outcome &&
          !failed &&
          `Generation ${outcome.generation}: ${outcome.changed.length === 0 ? 'nothing changed' : `${outcome.changed.length} components changed`}`}
      </span>
      <button type="button" disabled={busy || !may} title={may ? undefined : 'The key may not write'} onClick={run}>
        {busy ? 'Reloading…' : 'Reload'}
      </button>
      <Equivalent make={() => requestSnippets({ method: 'POST', path: '/v1/reload' })} />
      {failed && <Failure error={failed} />}
    </>
  )
}
