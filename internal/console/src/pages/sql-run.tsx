// One run of a statement: its state, and its rows, chart or plan.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError } from '../lib/api.ts'
import { type Result, limits } from '../lib/arrow.ts'
import { type Format, copyText, formats } from '../lib/result-copy.ts'
import { writeClipboard } from '../lib/clipboard.ts'
import { type Sort, useSorted } from '../lib/result-sort.ts'
import { bytes, count, millis, plural } from '../lib/format.ts'
import { param, setParams } from '../lib/route.ts'
import type { Run } from '../lib/sqlrun.ts'
import type { Diagnostic } from '../ui/code.tsx'
import { Badge, Failure, Modal, LongText, Copy, Tabs, type Tone } from '../ui/parts.tsx'
import { shown } from '../lib/text.ts'
import { type Chart, type Settings, charts, suggest, usable } from '../lib/chart.ts'
import { ResultChart } from '../views/result-chart.tsx'
import { Explain } from '../views/explain.tsx'
import { type Range, ResultGrid } from '../views/result-grid.tsx'
import { Download } from './sql-download.tsx'

const coastlines = () => import('../views/land.ts').then(m => m.land())

const tones: Record<Run['state'], Tone> = {
  waiting: '',
  skipped: '',
  running: 'accent',
  done: 'good',
  failed: 'bad',
  cancelled: 'warn',
}

export function RunTitle({ run, text }: { run: Run; text: string }) {
  void run.version.value
  return (
    <>
      <span class="foreign">{text}</span> {run.state !== 'done' && <Badge tone={tones[run.state]}>{run.state}</Badge>}
    </>
  )
}

interface RunProps {
  run: Run
  /** Moves the cursor of the editor to a place; there is none when the text has changed since. */
  go: ((place: Diagnostic) => void) | undefined
}

export function RunView({ run, go }: RunProps) {
  void run.version.value
  const { result, error } = run
  if (run.state === 'waiting') return <p class="soft">Not run yet.</p>
  if (run.state === 'skipped') return <p class="soft">Not run: the statement before it did not end well.</p>
  const e = error instanceof ApiError && error.line > 0 ? error : undefined
  return (
    <div class="stack">
      <Failure error={error} />
      {e && (
        <div>
          <button
            type="button"
            disabled={!go}
            title={go ? undefined : 'The text has changed since the statement was run'}
            onClick={() => go?.({ line: e.line, column: e.column, message: e.message })}
          >
            Go to the place
          </button>
        </div>
      )}
      {run.state === 'running' && run.job.mode !== 'rows' && <Elapsed since={run.started} />}
      {run.state === 'cancelled' && result.columns.length === 0 && <p role="status">Cancelled.</p>}
      {run.plan && <Explain plan={run.plan} />}
      {run.job.mode === 'rows' && !error && (result.columns.length > 0 || run.state === 'running') && (
        <Rows run={run} result={result} />
      )}
    </div>
  )
}

function Rows({ run, result }: { run: Run; result: Result }) {
  void run.version.value
  const [sort, setSort] = useState<Sort>()
  const [range, setRange] = useState<Range>()
  const [opened, setOpened] = useState<{ row: number; column: number }>()
  const [copied, setCopied] = useState<{ text: string; bad: boolean }>()
  const format = useRef<Format>('TSV')
  // While rows arrive, those that were there when the order was chosen are shown; then all.
  const arriving = result.end === 'running'
  const { order, sorting } = useSorted(result, sort, arriving)
  const view = param('view', 'table')

  const open = (row: number, column: number) => setOpened({ row: order ? order[row]! : row, column })
  const onSort = (column: number) =>
    setSort(s => (s?.column !== column ? { column, down: false } : s.down ? undefined : { column, down: true }))
  const copy = (r: Range) => {
    const one = r.top === r.bottom && r.left === r.right && format.current === 'TSV'
    const columns = Array.from({ length: r.right - r.left + 1 }, (_, i) => r.left + i)
    const [top, end] = [Math.max(0, r.top), Math.min(r.bottom + 1, result.rows)]
    const rows = order?.subarray(top, end) ?? Uint32Array.from({ length: end - top }, (_, i) => top + i)
    try {
      // One cell is its bare value, as spreadsheets do; more have the names of their columns.
      const text = one ? (result.text(rows[0]!, r.left) ?? '') : copyText(result, { rows, columns }, format.current)
      const what = one
        ? 'the value'
        : `${plural(end - top, 'row')} × ${plural(columns.length, 'column')} as ${format.current}`
      writeClipboard(text).then(
        () => setCopied({ text: `Copied ${what}.`, bad: false }),
        () => setCopied({ text: 'The browser does not let this page write to the clipboard.', bad: true }),
      )
    } catch (cause) {
      setCopied({ text: `Not copied: ${(cause as Error).message}.`, bad: true })
    }
  }

  return (
    <>
      <Summary run={run} result={result} sorted={sort !== undefined} sorting={sorting} />
      {result.columns.length > 0 && (
        <Tabs
          label="Views of the result"
          current={view}
          choose={id => setParams({ view: id === 'table' ? '' : id })}
          tabs={[
            {
              id: 'table',
              title: 'Table',
              body: () => (
                <>
                  <div class="row">
                    <button type="button" onClick={() => range && copy(range)} disabled={result.rows === 0}>
                      Copy selection
                    </button>
                    <select
                      aria-label="Form of what is copied"
                      defaultValue="TSV"
                      onChange={e => (format.current = e.currentTarget.value as Format)}
                    >
                      {formats.map(f => (
                        <option key={f}>{f}</option>
                      ))}
                    </select>
                    <button
                      type="button"
                      disabled={result.rows === 0 || !range || range.top < 0}
                      onClick={() => range && open(Math.max(0, range.top), range.left)}
                    >
                      Show value
                    </button>
                    <Download run={run} />
                    <span class={copied?.bad ? 'small' : 'soft small'} role="status">
                      {copied?.text}
                    </span>
                  </div>
                  <ResultGrid
                    result={result}
                    order={order}
                    sort={sort}
                    onSort={onSort}
                    onSelect={setRange}
                    onOpen={open}
                    onCopy={copy}
                  />
                  {result.rows === 0 && result.end === 'complete' && <p class="empty">The result has no rows.</p>}
                </>
              ),
            },
            { id: 'chart', title: 'Chart', body: () => <ChartView result={result} arriving={arriving} /> },
          ]}
        />
      )}
      {opened && <Cell result={result} {...opened} close={() => setOpened(undefined)} />}
    </>
  )
}

/** The chart with its settings in the address: chart, x, y and color, columns by their position. */
function ChartView({ result, arriving }: { result: Result; arriving: boolean }) {
  // While rows arrive, the chart is drawn again each time that there are twice as many.
  const version = arriving ? -Math.floor(Math.log2(result.rows + 1)) : result.rows
  const chart = param('chart')
  const at = (name: string) => Number(param(name, '0')) - 1
  const settings = useMemo(
    () =>
      chart in charts
        ? usable(result, { chart: chart as Chart, x: at('x'), y: at('y'), color: at('color') })
        : suggest(result),
    [result, result.columns, chart, param('x'), param('y'), param('color')],
  )
  const change = (s: Settings) =>
    setParams({ chart: s.chart, x: String(s.x + 1), y: String(s.y + 1), color: String(s.color + 1) })
  return <ResultChart result={result} version={version} settings={settings} onChange={change} coastlines={coastlines} />
}

interface SummaryProps {
  run: Run
  result: Result
  sorted: boolean
  sorting: boolean
}

/** What the result is: how many rows, how long it took, and whether rows are missing. */
function Summary({ run, result, sorted, sorting }: SummaryProps) {
  const missing = {
    running: '',
    complete: '',
    rows: `These are the first ${count(limits.rows)} rows, which is what the page holds at most. A download has all rows, if the statement only reads.`,
    bytes: `These are the rows in the first ${bytes(result.room)}, which is what the page holds at most. A download has all rows, if the statement only reads.`,
    columns: `The result has more than ${count(limits.columns)} columns, which is what the page shows at most. A download has all of them, if the statement only reads.`,
    broken:
      'The result is incomplete: the connection was closed before its end. That happens when the statement fails while rows are sent, or when the runtime stops.',
    cancelled: 'The result is incomplete: the statement was cancelled.',
  }[result.end]
  return (
    <>
      {run.state === 'running' && <Elapsed since={run.started} />}
      <p class="soft small" role="status">
        {run.state === 'running' ? `${plural(result.rows, 'row')} so far…` : plural(result.rows, 'row')}
        {result.columns.length > 0 && `, ${plural(result.columns.length, 'column')}`}
        {run.took > 0 && `, ${millis(run.took)}`}
        {run.firstRows > 0 && run.took > 200 && ` (first rows after ${millis(run.firstRows)})`}
        {result.bytes > 0 && `, ${bytes(result.bytes)}`}
        {sorted && result.end !== 'complete' && '. Only the rows that are loaded are sorted.'}
        {sorting && ' Sorting…'}
      </p>
      {missing && (
        <div class={`note ${result.end === 'broken' ? 'bad' : 'warn'}`} role="alert">
          {missing}
        </div>
      )}
    </>
  )
}

/** How long the statement has been running; no status, which would be read out each second. */
function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return <p class="small">Running for {Math.max(0, Math.round((now - since) / 1000))} s</p>
}

/** A value whole. */
function Cell({ result, row, column, close }: { result: Result; row: number; column: number; close: () => void }) {
  const { name, type, kind } = result.columns[column]!
  const text = result.text(row, column)
  const pretty = useMemo(() => (text !== null && text.length < 1_000_000 ? prettyJson(text) : null), [text])
  const [raw, setRaw] = useState(false)
  return (
    <Modal title={`${shown(name, 60) || '(no name)'}, row ${count(row + 1)}`} close={close}>
      <p class="soft small">
        {shown(type, 300)}
        {text !== null && kind !== 'number' && `, ${plural(text.length, 'character')}`}
      </p>
      {text === null ? <p class="soft">NULL</p> : <LongText text={pretty && !raw ? pretty : text} />}
      <div class="row">
        {text !== null && <Copy text={text} />}
        {pretty && (
          <button type="button" onClick={() => setRaw(!raw)}>
            {raw ? 'Show indented' : 'Show as it is'}
          </button>
        )}
      </div>
    </Modal>
  )
}

/**
 * prettyJson indents JSON without reading its numbers, which would lose digits. null if the text is no
 * object or list.
 */
function prettyJson(text: string): string | null {
  if (!/^\s*[[{]/.test(text)) return null
  try {
    JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|NaN|-?Infinity/g, part => (part.startsWith('"') ? part : '0')))
  } catch {
    return null
  }
  let [out, depth] = ['', 0]
  const line = () => '\n' + '  '.repeat(depth)
  for (const [part] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/g)) {
    if (part === '{' || part === '[') {
      depth++
      out += part + line()
    } else if (part === '}' || part === ']') {
      depth--
      out = /[[{]\s*$/.test(out.slice(-200)) ? out.trimEnd() + part : out + line() + part
    } else if (part === ',') out += part + line()
    else out += part === ':' ? ': ' : part
  }
  return out
}
