// Datasets and views: the list, or one of them with its columns, rows, statistics and refresh.
import { useEffect, useState } from 'preact/hooks'
import { api, caller, rows, type Problem } from '../lib/api.ts'
import { ago, brief, bytes, count } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { go, href, param, segments, setParams } from '../lib/route.ts'
import { errorOf, useProblems } from '../lib/problems.ts'
import { sqlName, sqlText } from '../lib/snippet.ts'
import { shown, visible } from '../lib/text.ts'
import { type DatasetStatus, LoadProgress, isLoading, statusPath } from '../ui/loading.tsx'
import {
  Badge,
  Empty,
  Equivalent,
  Failure,
  Figure,
  Outdated,
  Panel,
  Place,
  State,
  Tabs,
  requestSnippets,
} from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { Lineage } from './lineage.tsx'

interface Dataset {
  schema: string
  name: string
  kind: string
  from: string | null
  description: string | null
  accelerated: boolean
  mode: string | null
  state: string
  rows: number | null
  columns: number
  last_refresh: string | null
  last_snapshot: string | null
  error: string | null
  file: string | null
  line: number | null
}

interface Index {
  table: string
  columns: string[]
  state: string
  rows: number | null
  chunks: number | null
  progress: number | null
  bytes: number | null
  models: string[] | null
  message: string | null
}

const all = 'SELECT * FROM spiced.datasets ORDER BY schema, name'
const indexes = 'SELECT * FROM spiced.search_indexes'
const live = ['generation', 'dataset', 'index']

/** fullName is how a statement names a dataset; those of the default schema need no schema. */
const fullName = (d: Dataset): string =>
  (d.schema === 'public' || d.schema === 'main' ? '' : sqlName(d.schema) + '.') + sqlName(d.name)
/** idOf is the name of a dataset in the address. */
const idOf = (d: Dataset): string => (d.schema === 'public' || d.schema === 'main' ? d.name : `${d.schema}.${d.name}`)

type Loads = ReadonlyMap<string, DatasetStatus>

/** The API has a dataset by its name as declared, with or without a schema. */
const loadOf = (loads: Loads, d: Dataset) => loads.get(idOf(d)) ?? loads.get(`${d.schema}.${d.name}`)

/** problemOf is the error of the last load about a dataset or view. */
const problemOf = (problems: Problem[], d: Dataset): Problem | undefined => errorOf(problems, `${d.kind} ${idOf(d)}`)

const stateOf = (problems: Problem[], d: Dataset): string =>
  d.state === 'ready' && problemOf(problems, d) ? 'last good version' : d.state

export default function Data() {
  const id = segments.value[1]
  const list = useLoad(signal => rows<Dataset>(all, [], signal), [], live)
  const status = useLoad(signal => api<DatasetStatus[]>(statusPath, { signal }), [], live)
  const search = useLoad(signal => rows<Index>(indexes, [], signal), [], live)
  const problems = useProblems()
  const loads = new Map(status.data?.filter(isLoading).map(s => [s.name, s]))
  if (id === undefined)
    return (
      <DataList list={list.data} error={list.error} loads={loads} problems={problems} indexes={search.data ?? []} />
    )
  const d = list.data?.find(x => idOf(x) === id || x.name === id)
  const load = d && loadOf(loads, d)
  return (
    <>
      <div class="head">
        <h1 class="grow foreign">{shown(id, 80)}</h1>
        {d && <Badge>{d.kind}</Badge>}
        {d && <State state={load?.status ?? stateOf(problems, d)} />}
        <a href={href(['data'])}>All data</a>
      </div>
      <Failure error={list.error} again={list.reload} />
      {d && !d.error && <Outdated problem={problemOf(problems, d)} />}
      {d ? (
        <DatasetPage
          key={id}
          d={d}
          load={load}
          index={search.data?.find(i => i.table === d.name || i.table.endsWith('.' + d.name))}
        />
      ) : (
        list.data && <Empty>There is no dataset or view “{shown(id, 80)}”.</Empty>
      )}
    </>
  )
}

interface DataListProps {
  list: Dataset[] | undefined
  error: Error | undefined
  loads: Loads
  problems: Problem[]
  indexes: Index[]
}

function DataList({ list, error, loads, problems, indexes }: DataListProps) {
  const shownState = (d: Dataset) => (loadOf(loads, d)?.status ?? stateOf(problems, d)).toLowerCase()
  return (
    <>
      <div class="head">
        <h1 class="grow">Data</h1>
        <Equivalent
          make={() => [
            { title: 'SQL', text: all },
            { title: 'curl', text: `curl -s '${location.origin}/v1/datasets?status=true'` },
          ]}
        />
      </div>
      <Failure error={error} />
      <Table
        label="Datasets and views"
        filter="Filter datasets and views"
        rows={list ?? []}
        sort="name"
        empty={list ? 'The Spicepod declares none.' : 'Loading…'}
        columns={[
          {
            key: 'name',
            title: 'Name',
            value: idOf,
            show: d => (
              <a class="foreign" href={href(['data', idOf(d)])}>
                {shown(idOf(d), 80)}
              </a>
            ),
          },
          { key: 'kind', title: 'Kind', value: d => d.kind },
          { key: 'from', title: 'From', value: d => d.from },
          { key: 'state', title: 'State', value: shownState, show: d => <State state={shownState(d)} /> },
          { key: 'rows', title: 'Rows', value: d => d.rows, number: true },
          { key: 'columns', title: 'Columns', value: d => d.columns, number: true },
          { key: 'mode', title: 'Copy', value: d => (d.accelerated ? (d.mode ?? 'yes') : null) },
          { key: 'search', title: 'Search', value: d => (indexes.some(i => i.table === d.name) ? 'yes' : null) },
          {
            key: 'refresh',
            title: 'Refreshed',
            value: d => (d.accelerated ? d.last_refresh : null),
            show: d => (
              <span title={d.last_refresh ?? ''}>{d.accelerated ? ago(d.last_refresh) : 'read by each statement'}</span>
            ),
          },
          { key: 'description', title: 'Description', value: d => d.description },
          { key: 'error', title: 'Error', value: d => d.error },
        ]}
      />
    </>
  )
}

interface DatasetPageProps {
  d: Dataset
  load: DatasetStatus | undefined
  index: Index | undefined
}

function DatasetPage({ d, load, index }: DatasetPageProps) {
  const name = fullName(d)
  return (
    <>
      {d.description && <p class="foreign">{shown(d.description, 1000)}</p>}
      {d.error && (
        <div class="note bad foreign" role="alert">
          {visible(d.error)}
        </div>
      )}
      <div class="figures">
        {d.rows != null && <Figure value={brief(d.rows)} label="rows" />}
        <Figure value={count(d.columns)} label="columns" />
        <Figure
          value={d.accelerated ? `copy${d.mode ? ` (${d.mode})` : ''}` : d.kind === 'view' ? 'view' : 'source'}
          label="statements read from"
        />
        {d.accelerated && <Figure value={ago(d.last_refresh)} label="last refresh" />}
      </div>
      {load && <LoadProgress dataset={load} />}
      <div class="row">
        <Refresh d={d} busy={load !== undefined} />
        <a class="button" href={href(['sql'], { q: `SELECT * FROM ${name} LIMIT 100` })}>
          Open in SQL
        </a>
        {d.file && (
          <>
            {d.from && <code class="soft small foreign">{shown(d.from, 120)}</code>}
            <Place file={d.file} line={d.line} />
          </>
        )}
      </div>
      {index && <SearchBox index={index} />}
      <Tabs
        label="About the dataset"
        current={param('tab', 'columns')}
        choose={tab => setParams({ tab: tab === 'columns' ? '' : tab })}
        tabs={[
          { id: 'columns', title: 'Columns', body: () => <Columns d={d} /> },
          {
            id: 'sample',
            title: 'Sample',
            body: () => <Rows sql={`SELECT * FROM ${name} LIMIT 100`} label="Sample" />,
          },
          { id: 'statistics', title: 'Statistics', body: () => <Statistics sql={`SUMMARIZE ${name}`} /> },
          { id: 'used', title: 'Used by', body: () => <ReadBy d={d} /> },
          { id: 'lineage', title: 'Lineage', body: () => <Lineage of={`dataset:${idOf(d)}`} /> },
        ]}
      />
    </>
  )
}

function Refresh({ d, busy }: { d: Dataset; busy: boolean }) {
  const [message, setMessage] = useState('')
  const [failed, setFailed] = useState<Error>()
  if (!d.accelerated) return null
  const path = `/v1/datasets/${encodeURIComponent(idOf(d))}/acceleration/refresh`
  const may = caller.value?.may_write !== false
  useEffect(() => void (busy || setMessage('')), [busy]) // what was asked for is done
  return (
    <>
      <button
        type="button"
        disabled={!may || busy}
        title={may ? undefined : 'The key may not write'}
        onClick={() => {
          setFailed(undefined)
          api<{ message: string }>(path, { method: 'POST' }).then(m => setMessage(m.message), setFailed)
        }}
      >
        Refresh
      </button>
      <Equivalent make={() => requestSnippets({ method: 'POST', path })} />
      <span role="status" class="soft small">
        {message}
      </span>
      <Failure error={failed} />
    </>
  )
}

function SearchBox({ index }: { index: Index }) {
  const [q, setQ] = useState('')
  return (
    <Panel title="Search" action={<State state={index.state} />}>
      <form
        class="row"
        role="search"
        onSubmit={e => {
          e.preventDefault()
          go(href(['search'], { in: 'data', q, table: index.table }))
        }}
      >
        <input
          type="search"
          class="grow"
          required
          value={q}
          aria-label="Find rows by their texts"
          onInput={e => setQ(e.currentTarget.value)}
        />
        <button class="primary">Find rows</button>
      </form>
      {index.state !== 'ready' && index.progress != null && (
        <progress value={index.progress} max={1} aria-label="Building the index" />
      )}
      <p class="soft small">
        Columns {index.columns.map(c => shown(c, 40)).join(', ')}
        {index.rows != null && `; ${count(index.chunks)} parts of ${count(index.rows)} rows`}
        {index.bytes != null && `; ${bytes(index.bytes)}`}
        {index.models && index.models.length > 0 && `; models ${index.models.map(m => shown(m, 40)).join(', ')}`}
      </p>
      {index.message && <div class="note warn foreign">{shown(index.message, 600)}</div>}
    </Panel>
  )
}

interface ColumnRow {
  position: number
  name: string
  type: string
  description: string | null
}

function Columns({ d }: { d: Dataset }) {
  const sql = `SELECT position, name, type, description FROM spiced.dataset_columns
WHERE schema = ${sqlText(d.schema)} AND dataset = ${sqlText(d.name)} ORDER BY position`
  const list = useLoad(signal => rows<ColumnRow>(sql, [], signal), [sql], ['generation', 'dataset'])
  return (
    <>
      <Failure error={list.error} again={list.reload} />
      <Table
        label="Columns"
        name="c"
        rows={list.data ?? []}
        tools={<Equivalent make={() => [{ title: 'SQL', text: sql }]} />}
        columns={[
          { key: 'position', title: '#', value: c => c.position, number: true },
          { key: 'name', title: 'Name', value: c => c.name },
          { key: 'type', title: 'Type', value: c => c.type, show: c => <code>{shown(c.type, 120)}</code> },
          { key: 'description', title: 'Description', value: c => c.description },
        ]}
      />
    </>
  )
}

/** Statistics reads the whole dataset, so it waits for a click. */
function Statistics({ sql }: { sql: string }) {
  const [asked, setAsked] = useState(false)
  if (asked) return <Rows sql={sql} label="Statistics" />
  return (
    <div class="row">
      <button type="button" class="primary" onClick={() => setAsked(true)}>
        Compute the statistics
      </button>
      <span class="soft small">This reads every row.</span>
    </div>
  )
}

/** Rows shows the rows of a short result. */
function Rows({ sql, label }: { sql: string; label: string }) {
  const list = useLoad(signal => rows<Record<string, unknown>>(sql, [], signal), [sql], ['dataset'])
  const [first] = list.data ?? []
  const names = first ? Object.keys(first) : []
  return (
    <>
      <Failure error={list.error} again={list.reload} />
      {list.data && names.length === 0 && <Empty>It has no rows.</Empty>}
      {names.length > 0 && (
        <Table
          label={label}
          name="r"
          rows={list.data!.map((row, at) => ({ row, at }))}
          id={r => String(r.at)}
          tools={
            <Equivalent
              make={() => [
                { title: 'SQL', text: sql },
                ...requestSnippets({ method: 'POST', path: '/v1/sql', body: { sql } }),
              ]}
            />
          }
          columns={names.map(n => ({
            key: n,
            title: shown(n, 60),
            value: (r: { row: Record<string, unknown> }) => valueOf(r.row[n]),
            number: typeof first![n] === 'number',
          }))}
        />
      )}
    </>
  )
}

const valueOf = (v: unknown): string | number | boolean | null =>
  v == null ? null : typeof v === 'object' ? JSON.stringify(v) : (v as string | number | boolean)

/** ReadBy lists the functions and views that read the dataset, and which columns are known. */
function ReadBy({ d }: { d: Dataset }) {
  const name = sqlText(idOf(d))
  const sql = `SELECT 'function' AS kind, function AS name, list(DISTINCT l."column") FILTER (l."column" IN
  (SELECT name FROM spiced.dataset_columns WHERE schema = ${sqlText(d.schema)} AND dataset = ${sqlText(d.name)})) AS columns
FROM spiced.lineage l WHERE depends_on_kind <> 'function' AND depends_on = ${name} GROUP BY function
UNION ALL SELECT 'view', view, NULL FROM spiced.view_lineage WHERE depends_on_kind = 'dataset' AND depends_on = ${name}
ORDER BY ALL`
  const list = useLoad(
    signal => rows<{ kind: string; name: string; columns: string[] | null }>(sql, [], signal),
    [sql],
    ['generation'],
  )
  return (
    <>
      <Failure error={list.error} again={list.reload} />
      <Table
        label="Functions and views that read it"
        name="u"
        rows={list.data ?? []}
        empty={list.data ? 'No function or view reads it.' : 'Loading…'}
        tools={<Equivalent make={() => [{ title: 'SQL', text: sql }]} />}
        columns={[
          {
            key: 'name',
            title: 'Name',
            value: f => f.name,
            show: f => <a href={href([f.kind === 'view' ? 'data' : 'functions', f.name])}>{shown(f.name, 80)}</a>,
          },
          { key: 'kind', title: 'Kind', value: f => f.kind },
          { key: 'columns', title: 'Columns', value: f => f.columns?.join(', ') },
        ]}
      />
    </>
  )
}
