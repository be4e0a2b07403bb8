// The tools: the table of all of them, or one tool (tool.tsx).
import { useMemo } from 'preact/hooks'
import { rows } from '../lib/api.ts'
import { ago, count, millis, time } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { href, param, segments, setParams } from '../lib/route.ts'
import { own, shown } from '../lib/text.ts'
import { Badge, Equivalent, Failure, type Tone } from '../ui/parts.tsx'
import { Table, type Column } from '../ui/table.tsx'
import { ToolPage } from './tool.tsx'

interface Tool {
  name: string
  owner: string
  source: string
  description: string
  parameter_count: number
  total_invocations: number
  errors: number
  searches: number
  last_called_at: string | null
  p95_ms: number | null
  calls_per_day: number | null
  definition_tokens: number
  risk: string
  tags: string[] | null
  verdict: string | null
}

const all = `SELECT t.name, t.owner, t.source, t.description, t.parameter_count, t.total_invocations, t.errors, t.searches,
  t.last_called_at, t.definition_tokens, t.risk, t.tags, h.p95_ms, h.calls_per_day, d.verdict
FROM spiced.tools t LEFT JOIN spiced.hot_tools h USING (name) LEFT JOIN spiced.dead_tools d USING (name)
ORDER BY t.name`

const risks: Record<string, Tone> = { write: 'warn', destructive: 'bad' }

/** What spiced.dead_tools says of a tool that is not called. */
const verdicts: Record<string, string> = {
  broken: 'every call fails',
  badly_described: 'found, but not called rightly',
  refused: 'every call is refused',
  unneeded: 'not needed',
  too_early: 'too early to say: it takes a day and 100 calls of any tools',
}

const columns: Column<Tool>[] = [
  {
    key: 'name',
    title: 'Name',
    value: t => t.name,
    show: t => (
      <a class="foreign" href={href(['tools', t.name])}>
        {shown(t.name, 80)}
      </a>
    ),
  },
  { key: 'description', title: 'Description', value: t => t.description },
  { key: 'parameters', title: 'Parameters', value: t => t.parameter_count, number: true },
  { key: 'calls', title: 'Invocations', value: t => t.total_invocations, number: true },
  { key: 'errors', title: 'Errors', value: t => t.errors, number: true },
  { key: 'p95', title: 'p95', value: t => t.p95_ms, show: t => millis(t.p95_ms), number: true },
  { key: 'searches', title: 'Found by searches', value: t => t.searches, number: true },
  { key: 'tokens', title: 'Tokens', value: t => t.definition_tokens, number: true },
  {
    key: 'last',
    title: 'Last call',
    value: t => time(t.last_called_at),
    show: t => <span title={t.last_called_at ?? ''}>{ago(t.last_called_at)}</span>,
  },
  { key: 'owner', title: 'Owner', value: t => t.owner },
  { key: 'source', title: 'Source', value: t => t.source },
  {
    key: 'risk',
    title: 'Risk',
    value: t => t.risk,
    show: t => <Badge tone={own(risks, t.risk) ?? ''}>{t.risk}</Badge>,
  },
]

/** Why a tool is not called; the table of these tools has it next to the name. */
const verdict: Column<Tool> = {
  key: 'verdict',
  title: 'Unused because',
  value: t => (t.verdict ? (own(verdicts, t.verdict) ?? t.verdict) : null),
}

const uncalled = [columns[0]!, verdict, ...columns.slice(1)]

const views: Record<string, { title: string; keeps: (t: Tool) => boolean; sql: string }> = {
  '': { title: 'All', keeps: () => true, sql: all },
  hot: {
    title: 'Hot',
    keeps: t => (t.calls_per_day ?? 0) > 0,
    sql: 'SELECT * FROM spiced.hot_tools ORDER BY calls_per_day DESC',
  },
  uncalled: { title: 'Not called', keeps: t => t.verdict !== null, sql: 'SELECT * FROM spiced.dead_tools' },
  failing: {
    title: 'Failing',
    keeps: t => t.errors > 0,
    sql: 'SELECT name, total_invocations, errors FROM spiced.tools WHERE errors > 0 ORDER BY errors DESC',
  },
}

export default function Tools() {
  const name = segments.value[1]
  return name === undefined ? <ToolList /> : <ToolPage key={name} name={name} />
}

function ToolList() {
  const tools = useLoad(signal => rows<Tool>(all, [], signal), [], ['generation', 'call'])
  const which = param('show')
  const view = own(views, which) ?? views['']!
  const [owner, source, tag] = [param('owner'), param('source'), param('tag')]
  const list = tools.data
  const shownRows = useMemo(
    () =>
      (list ?? []).filter(
        t =>
          view.keeps(t) &&
          (!owner || t.owner === owner) &&
          (!source || t.source === source) &&
          (!tag || (t.tags ?? []).includes(tag)),
      ),
    [list, which, owner, source, tag],
  )
  const choices = useMemo(
    () => ({
      owner: distinct(list?.map(t => t.owner)),
      source: distinct(list?.map(t => t.source)),
      tag: distinct(list?.flatMap(t => t.tags ?? [])),
    }),
    [list],
  )
  return (
    <>
      <div class="head">
        <h1 class="grow">Tools</h1>
        <Equivalent
          make={() => [
            { title: 'SQL', text: view.sql },
            { title: 'curl', text: `curl -s '${location.origin}/v1/tools?view=stats'` },
          ]}
        />
      </div>
      <Failure error={tools.error} again={tools.reload} />
      <Table
        label="Tools"
        filter="Filter tools"
        columns={which === 'uncalled' ? uncalled : columns}
        rows={shownRows}
        sort={which === 'hot' ? '-calls' : which === 'failing' ? '-errors' : 'name'}
        empty={tools.loading ? 'Loading…' : which === '' ? 'There are no tools.' : 'No tool is like this.'}
        tools={
          <>
            <div class="row" role="group" aria-label="Which tools">
              {Object.entries(views).map(([id, v]) => (
                <button
                  key={id}
                  type="button"
                  aria-pressed={id === which}
                  class={id === which ? 'chosen' : ''}
                  onClick={() => setParams({ show: id, sort: '' })}
                >
                  {v.title} <span class="soft small">{list ? count(list.filter(v.keeps).length) : '–'}</span>
                </button>
              ))}
            </div>
            {(['owner', 'source', 'tag'] as const).map(by => (
              <select
                key={by}
                aria-label={`Only this ${by}`}
                value={param(by)}
                onChange={e => setParams({ [by]: e.currentTarget.value })}
              >
                <option value="">Every {by}</option>
                {choices[by].map(c => (
                  <option key={c} value={c}>
                    {shown(c, 40)}
                  </option>
                ))}
              </select>
            ))}
          </>
        }
      />
    </>
  )
}

const distinct = (list: string[] | undefined): string[] => [...new Set(list ?? [])].sort()
