// ui://spiced/result: the rows of a result as a table and as a chart.
import { useMemo, useState } from 'preact/hooks'
import { suggest, type Settings } from '../lib/chart.ts'
import { count } from '../lib/format.ts'
import { ofRows } from '../lib/result.ts'
import { type Sort, sortRows } from '../lib/result-sort.ts'
import { LongText } from '../ui/foreign.tsx'
import { ResultChart } from '../views/result-chart.tsx'
import { ResultGrid } from '../views/result-grid.tsx'
import { show, valueOf, type Call } from './frame.tsx'

type Row = Record<string, unknown>

const isRow = (v: unknown): v is Row => typeof v === 'object' && v !== null && !Array.isArray(v)

/** rowsOf finds the rows in a result: the result itself, or the one list of rows in it. */
function rowsOf(value: unknown): Row[] | undefined {
  if (Array.isArray(value)) return value.length > 0 && value.every(isRow) ? value : undefined
  if (!isRow(value)) return undefined
  const lists = Object.values(value).filter(v => Array.isArray(v) && v.length > 0 && v.every(isRow))
  return lists.length === 1 ? (lists[0] as Row[]) : undefined
}

show(call => {
  const rows = rowsOf(valueOf(call.result))
  return rows && <Rows rows={rows} call={call} />
})

function Rows({ rows, call }: { rows: Row[]; call: Call }) {
  const result = useMemo(() => ofRows(rows), [rows])
  const [chart, setChart] = useState(false)
  const [settings, setSettings] = useState<Settings>(() => suggest(result))
  const [sort, setSort] = useState<Sort>()
  const [opened, setOpened] = useState<{ row: number; column: number }>()
  const order = useMemo(() => sort && sortRows(result, sort), [result, sort])
  const notes = (call.result.content ?? []).slice(1).flatMap(c => c.text ?? [])
  return (
    <>
      <div class="row">
        <div class="row" role="group" aria-label="Show as">
          <button type="button" aria-pressed={!chart} class={chart ? '' : 'chosen'} onClick={() => setChart(false)}>
            Table
          </button>
          <button type="button" aria-pressed={chart} class={chart ? 'chosen' : ''} onClick={() => setChart(true)}>
            Chart
          </button>
        </div>
        <span class="soft small">{count(result.rows)} rows</span>
      </div>
      {notes.map(n => (
        <div key={n} class="note warn foreign">
          {n}
        </div>
      ))}
      {chart ? (
        <ResultChart result={result} version={0} settings={settings} onChange={setSettings} />
      ) : (
        <ResultGrid
          result={result}
          order={order}
          sort={sort}
          onSort={column =>
            setSort(s => (s?.column !== column ? { column, down: false } : s.down ? undefined : { column, down: true }))
          }
          onOpen={(row, column) => setOpened({ row: order ? order[row]! : row, column })}
        />
      )}
      {opened && <LongText text={result.text(opened.row, opened.column) ?? 'NULL'} />}
    </>
  )
}
