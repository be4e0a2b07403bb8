// The last calls of one tool, or of all: how many over time, how long they took, and each of them.
import { signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { rows } from '../lib/api.ts'
import { ago, clock, count, millis, percent, time } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { href } from '../lib/route.ts'
import { sqlText } from '../lib/snippet.ts'
import { shown } from '../lib/text.ts'
import { Badge, Equivalent, Failure, Figure, Foreign, LongText, Modal, Panel } from '../ui/parts.tsx'
import { Plot } from '../ui/plot.tsx'
import { Table, type Column } from '../ui/table.tsx'

interface Call {
  id: string
  called_at: string
  tool: string
  caller: string | null
  user_id: string | null
  surface: string
  ok: boolean
  code: string | null
  latency_ms: number
  rows: number | null
  error: string | null
  owner: string | null
  source: string | null
  cached: boolean
  request_id: string | null
  session_id: string | null
}

/** The call whose details are shown. */
const opened = signal<Call | undefined>(undefined)

/** What the runtime calls tools that it does not have. */
const unknown = '(unknown)'

export const ToolLink = ({ tool }: { tool: string }) =>
  tool === unknown ? <span class="soft">{unknown}</span> : <a href={href(['tools', tool])}>{shown(tool, 80)}</a>

const most = 2000 // calls that are listed

/** asks reports whether the call asked for approval, which is no failure. */
const asks = (c: Call): boolean => c.code === 'approval_required'

const columns: Column<Call>[] = [
  {
    key: 'at',
    title: 'When',
    value: c => time(c.called_at),
    show: c => (
      <button type="button" class="plain nowrap" title={ago(c.called_at)} onClick={() => (opened.value = c)}>
        {clock(c.called_at)}
      </button>
    ),
  },
  {
    key: 'tool',
    title: 'Tool',
    value: c => c.tool,
    show: c => <ToolLink tool={c.tool} />,
  },
  { key: 'caller', title: 'Caller', value: c => c.caller },
  { key: 'user', title: 'User', value: c => c.user_id },
  { key: 'surface', title: 'By', value: c => c.surface },
  {
    key: 'outcome',
    title: 'Outcome',
    value: c => (c.ok ? 'ok' : (c.code ?? 'failed')),
    show: c => <Badge tone={c.ok ? 'good' : asks(c) ? 'warn' : 'bad'}>{c.ok ? 'ok' : (c.code ?? 'failed')}</Badge>,
  },
  { key: 'ms', title: 'Time', value: c => c.latency_ms, show: c => millis(c.latency_ms), number: true },
  { key: 'rows', title: 'Rows', value: c => c.rows, number: true },
  { key: 'error', title: 'Error', value: c => c.error },
]

const ofOneTool = columns.filter(c => c.key !== 'tool')

/** Calls shows the last calls of a tool or, without one, of all tools. */
export function Calls({ tool }: { tool?: string }) {
  const sql = `SELECT id, called_at, tool, caller, user_id, surface, ok, code, latency_ms, rows, error, owner, source, cached,
  request_id, session_id FROM spiced.tool_calls ${tool === undefined ? '' : `WHERE tool = ${sqlText(tool)} `}ORDER BY called_at DESC LIMIT ${most}`
  const calls = useLoad(signal => rows<Call>(sql, [], signal), [sql], ['call'])
  const list = calls.data ?? []
  const points: CallPoint[] = useMemo(
    () => list.map(c => ({ at: c.called_at, ms: c.latency_ms, ok: c.ok || asks(c) })),
    [list],
  )
  const latencies = useMemo(() => list.map(c => c.latency_ms).sort((a, b) => a - b), [list])
  const at = (q: number) => latencies[Math.min(latencies.length - 1, Math.floor(q * latencies.length))]
  return (
    <>
      <Failure error={calls.error} again={calls.reload} />
      <div class="figures">
        <Figure value={count(list.length)} label={list.length === most ? 'calls, the last' : 'calls that are kept'} />
        <Figure
          value={list.length ? percent(list.filter(c => !c.ok && !asks(c)).length / list.length) : '–'}
          label="of these failed"
        />
        <Figure value={millis(at(0.5))} label="median time" />
        <Figure value={millis(at(0.95))} label="95th percentile of the time" />
      </div>
      {points.length > 0 && (
        <div class="columns">
          <Panel title="Calls over time">
            <CallsOverTime calls={points} />
            <p class="soft small">
              <span class="key-ok" /> succeeded <span class="key-failed" /> failed
            </p>
          </Panel>
          <Panel title="Latency">
            <LatencyMap calls={points} />
          </Panel>
        </div>
      )}
      <Table
        label="Calls"
        filter="Filter calls"
        name="c"
        rows={list}
        id={c => c.id}
        sort="-at"
        empty={calls.loading ? 'Loading…' : 'There was no call, or the calls are no longer kept.'}
        tools={<Equivalent make={() => [{ title: 'SQL', text: sql }]} />}
        columns={tool === undefined ? columns : ofOneTool}
      />
      {opened.value && <Details call={opened.value} />}
    </>
  )
}

interface Recorded {
  arguments: string | null
  result: string | null
}

/** What an agent called a tool with is among the events of its request, for as long as these are kept. */
const recordedSql = `SELECT max(arguments) AS arguments, max(result) AS result FROM spiced.events
WHERE call_id IN (SELECT call_id FROM spiced.events WHERE request_id = $1 AND tool = $2)
GROUP BY call_id`

function Details({ call: c }: { call: Call }) {
  const events = useLoad(
    signal =>
      c.request_id ? rows<Recorded>(recordedSql, [c.request_id, c.tool], signal) : Promise.resolve<Recorded[]>([]),
    [c.id],
  )
  const facts: [string, string | null][] = [
    ['Tool', c.tool],
    ['Owner', c.owner],
    ['Caller', c.caller],
    ['User', c.user_id],
    ['By', c.surface],
    ['Source', c.source],
    ['Outcome', c.ok ? 'ok' : (c.code ?? 'failed')],
    ['Error', c.error],
    ['Time', millis(c.latency_ms)],
    ['Rows', c.rows === null ? null : count(c.rows)],
    ['From the cache', c.cached ? 'yes' : null],
    ['Request', c.request_id],
    ['Session', c.session_id],
    ['Call', c.id],
  ]
  return (
    <Modal title={`Call at ${clock(c.called_at)}`} close={() => (opened.value = undefined)}>
      <dl class="definition">
        {facts.map(
          ([term, value]) =>
            value && [
              <dt key={term}>{term}</dt>,
              <dd key={term + 'd'}>
                <Foreign text={value} max={4000} />
              </dd>,
            ],
        )}
      </dl>
      <Failure error={events.error} again={events.reload} />
      {events.data?.map((e, i) => (
        <div key={i} class="stack">
          {e.arguments && <LongText text={e.arguments} />}
          {e.result && <LongText text={e.result} />}
        </div>
      ))}
      {events.data?.length === 0 && (
        <p class="soft small">
          Arguments and results are kept of the calls of agents in your own requests only, in <code>spiced.events</code>
          .
        </p>
      )}
    </Modal>
  )
}

interface CallPoint {
  at: string
  ms: number
  ok: boolean
}

const bars = 40
const leastSlot = 1500 // ms; the chart has a minute at least

interface Slot {
  from: Date
  to: Date
  ok: number
  failed: number
}

/** slots counts calls in equal parts of the time between the first and the last. */
function slots(calls: CallPoint[]): Slot[] {
  const times = calls.map(c => +time(c.at)!)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const width = Math.max(leastSlot, Math.ceil((last - first + 1) / bars))
  const list: Slot[] = []
  for (let at = first; at <= last || list.length < bars; at += width)
    list.push({ from: new Date(at), to: new Date(at + width), ok: 0, failed: 0 })
  calls.forEach((c, i) => {
    const slot = list[Math.floor((times[i]! - first) / width)]!
    if (c.ok) slot.ok++
    else slot.failed++
  })
  return list
}

function CallsOverTime({ calls }: { calls: CallPoint[] }) {
  const list = slots(calls)
  const failed = calls.filter(c => !c.ok).length
  return (
    <Plot
      label={`${calls.length} calls over time, ${failed} failed`}
      deps={[calls]}
      options={plot => ({
        height: 180,
        marginBottom: 46,
        x: { label: 'UTC' },
        y: { label: 'calls', grid: true },
        marks: [
          plot.rectY(list, { x1: 'from', x2: 'to', y: 'ok', fill: 'var(--blue)', inset: 0.5 }),
          plot.rectY(list, {
            x1: 'from',
            x2: 'to',
            y1: 'ok',
            y2: (s: Slot) => s.ok + s.failed,
            fill: 'var(--bad)',
            inset: 0.5,
          }),
          plot.ruleY([0]),
        ],
      })}
    />
  )
}

interface Cell {
  from: Date
  to: Date
  low: number
  high: number
  calls: number
}

/** LatencyMap is a heat map: time to the right, latency upwards in powers of two. */
function LatencyMap({ calls }: { calls: CallPoint[] }) {
  const list = slots(calls)
  const width = +list[0]!.to - +list[0]!.from
  const first = +list[0]!.from
  const cells = new Map<string, Cell>()
  for (const c of calls) {
    const slot = list[Math.floor((+time(c.at)! - first) / width)]!
    const power = Math.floor(Math.log2(Math.max(c.ms, 0.01)))
    const name = `${+slot.from}/${power}`
    const cell = cells.get(name) ?? { from: slot.from, to: slot.to, low: 2 ** power, high: 2 ** (power + 1), calls: 0 }
    cell.calls++
    cells.set(name, cell)
  }
  const slowest = Math.max(...calls.map(c => c.ms))
  return (
    <Plot
      label={`Latency of ${calls.length} calls; the slowest took ${millis(slowest)}`}
      deps={[calls]}
      options={plot => ({
        height: 180,
        marginLeft: 64,
        marginBottom: 46,
        x: { label: 'UTC', domain: [list[0]!.from, list.at(-1)!.to] },
        y: { type: 'log', base: 2, label: null, tickFormat: (ms: number) => millis(ms), ticks: 5 },
        opacity: { domain: [0, Math.max(...[...cells.values()].map(c => c.calls))], range: [0.15, 1] },
        marks: [
          plot.rect([...cells.values()], {
            x1: 'from',
            x2: 'to',
            y1: 'low',
            y2: 'high',
            fill: 'var(--accent)',
            fillOpacity: 'calls',
            title: (c: Cell) => `${c.calls} calls, ${millis(c.low)} to ${millis(c.high)}`,
          }),
        ],
      })}
    />
  )
}
