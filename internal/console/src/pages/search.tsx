// Searches for tools, and for rows of data, with why each was found. A search for tools can be kept as
// a test of the Spicepod.
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { api, rows } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href, param, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import {
  Badge,
  Copy,
  Empty,
  Equivalent,
  Failure,
  Foreign,
  LongText,
  Modal,
  Panel,
  Tabs,
  requestSnippets,
} from '../ui/parts.tsx'
import { Channels, Marked, digits, ToolHits, type Channel, type ToolHit } from '../views/searchwhy.tsx'

interface ToolsFound {
  query: string
  search_mode: string
  tools: ToolHit[]
  total?: number
  no_good_match?: boolean
  fallback?: boolean
  notices?: string[]
  why?: { tool: string; rank: number; score: number; cut?: string; channels: Channel[] | null }
}

interface RowsFound {
  mode: string
  notes?: string[]
  results: {
    dataset: string
    score: number
    primary_key?: Record<string, unknown>
    matches: Record<string, string[]>
    data?: Record<string, unknown>
    sources?: Channel[]
  }[]
  duration_ms: number
}

export default function Search() {
  const kind = param('in', 'tools')
  return (
    <>
      <h1>Search</h1>
      <Tabs
        label="What to search"
        current={kind}
        choose={id => setParams({ in: id === 'tools' ? '' : id })}
        tabs={[
          { id: 'tools', title: 'Tools', body: () => <ToolSearch /> },
          { id: 'data', title: 'Data', body: () => <DataSearch /> },
        ]}
      />
    </>
  )
}

/** keywordsOf reads phrases that are separated by commas. */
const keywordsOf = (text: string): string[] =>
  text
    .split(',')
    .map(k => k.trim())
    .filter(Boolean)

/** Fields of a search; what is entered becomes part of the address when it is sent. */
function SearchForm({
  kind,
  names,
  children,
}: {
  kind: 'tools' | 'data'
  names: Record<string, string>
  children?: ComponentChildren
}) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries(Object.keys(names).map(name => [name, param(name)])),
  )
  const tools = useId()
  return (
    <form
      class="panel"
      role="search"
      onSubmit={e => {
        e.preventDefault()
        setParams(values)
      }}
    >
      <div class="fields">
        {Object.entries(names).map(([name, title]) => (
          <label key={name} class="field">
            {title}
            <input
              {...(name === 'limit'
                ? { type: 'number' as const, min: 1, max: kind === 'tools' ? 20 : 100 }
                : { type: 'text' as const })}
              maxLength={2000}
              list={name === 'tool' ? tools : undefined}
              value={values[name]}
              required={name === 'q'}
              onInput={e => setValues({ ...values, [name]: e.currentTarget.value })}
            />
          </label>
        ))}
      </div>
      {names.tool && <ToolNames id={tools} part={values.tool ?? ''} />}
      <div class="row">
        <button class="primary">Search</button>
        {children}
      </div>
    </form>
  )
}

/** Names of tools that have a part in them, for the field with that list. */
function ToolNames({ id, part }: { id: string; part: string }) {
  const sql = 'SELECT name FROM spiced.tools WHERE contains(lower(name), lower($1)) ORDER BY len(name), name LIMIT 50'
  const found = useLoad(signal => rows<{ name: string }>(sql, [part], signal), [part], ['generation'])
  return (
    <datalist id={id}>
      {found.data?.map(t => (
        <option key={t.name} value={t.name} />
      ))}
    </datalist>
  )
}

function ToolSearch() {
  const [q, keywords, model, limit, tool] = ['q', 'keywords', 'model', 'limit', 'tool'].map(name => param(name))
  const user = param('user')
  const body: Record<string, unknown> = { query: q, explain: true }
  if (keywords) body.keywords = keywordsOf(keywords)
  if (model) body.embedding_model = model
  if (limit) body.limit = Number(limit)
  if (tool) body.tool = tool
  if (user) body.context = { user_id: user }
  const request = { method: 'POST', path: '/v1/tools:search', body }
  const found = useLoad(
    signal => (q ? api<ToolsFound>('/v1/tools:search', { body, signal }) : Promise.resolve(undefined)),
    [JSON.stringify(body)],
    ['generation'],
  )
  const f = q ? found.data : undefined
  const [test, setTest] = useState('')
  return (
    <>
      <SearchForm
        kind="tools"
        names={{
          q: 'What the tool should do',
          keywords: 'Keywords (comma separated)',
          tool: 'Tool to explain',
          limit: 'Most results',
          model: 'Embedding model',
          user: 'As user',
        }}
      >
        {q && <Equivalent make={() => requestSnippets(request)} />}
        {f?.tools[0] && (
          <button
            type="button"
            onClick={() => setTest(yamlTest(q!, keywordsOf(keywords ?? ''), tool || f.tools[0]!.tool_id, f))}
          >
            Save as search test
          </button>
        )}
      </SearchForm>
      {test && (
        <Modal title="A search test for the Spicepod" close={() => setTest('')}>
          <p>
            Add this to <code>spicepod.yaml</code>. The load reports a search that no longer finds its tool.
          </p>
          <LongText text={test} wrap={false} />
          <div>
            <Copy text={test} />
          </div>
        </Modal>
      )}
      <Failure error={found.error} again={found.reload} />
      {f && !found.error && (
        <div aria-live="polite" class="stack">
          <div class="row">
            <span>
              Tools for “<Foreign text={f.query} max={200} />”
            </span>
            <Badge>{f.search_mode === 'lexical_rrf' ? 'by words' : 'by words and meaning'}</Badge>
            {f.no_good_match && <Badge tone="warn">no good match</Badge>}
            {f.fallback && <Badge tone="warn">no tool reached the lowest score</Badge>}
          </div>
          {f.no_good_match && (
            <div class="note warn">The tools found probably do not match the query. A model reads the same note.</div>
          )}
          {f.notices?.map(n => (
            <div key={n} class="note warn foreign">
              {shown(n, 500)}
            </div>
          ))}
          {f.why && <Why why={f.why} />}
          {f.tools.length === 0 ? (
            <Empty>No tool was found.</Empty>
          ) : (
            <ToolHits hits={f.tools} link={t => href(['tools', t])} />
          )}
        </div>
      )}
    </>
  )
}

const cuts: Record<string, string> = {
  refused: 'it is not available to the caller',
  no_match: 'no channel finds it',
  min_score: 'its score is lower than the lowest that is allowed',
  limit: 'other tools rank higher, and the list ends before it',
}

function Why({ why }: { why: NonNullable<ToolsFound['why']> }) {
  return (
    <Panel title={`Why ${shown(why.tool, 80)} is ${why.cut ? 'not found' : 'found'}`}>
      <p>
        {why.rank > 0 ? `Rank ${why.rank} of all matches, score ${why.score}` : 'It matches in no channel'}
        {why.cut && `: ${cuts[why.cut] ?? why.cut}`}.
      </p>
      <Channels channels={why.channels ?? []} of={why.tool} />
    </Panel>
  )
}

/** yamlTest writes a search test: the tool must stay within the rank that it has now. */
function yamlTest(query: string, keywords: string[], expect: string, found: ToolsFound): string {
  const rank = found.why?.rank || found.tools.findIndex(t => t.tool_id === expect) + 1
  const lines = ['search_tests:', `  - query: ${JSON.stringify(query)}`]
  if (keywords.length > 0) lines.push(`    keywords: ${JSON.stringify(keywords)}`)
  lines.push(`    expect: ${JSON.stringify(expect)}`, `    top: ${Math.min(20, Math.max(1, rank))}`)
  return lines.join('\n') + '\n'
}

/** What the API calls the ways to search. */
const modes: Record<string, string> = { hybrid: 'words and meaning', vector: 'meaning', keyword: 'words' }

function DataSearch() {
  const [q, keywords, table, where, mode, limit] = ['q', 'keywords', 'table', 'where', 'mode', 'limit'].map(n =>
    param(n),
  )
  const body: Record<string, unknown> = { text: q, explain: true }
  if (keywords) body.keywords = keywordsOf(keywords)
  if (table) body.datasets = keywordsOf(table)
  if (where) body.where = where
  if (mode) body.mode = mode
  if (limit) body.limit = Number(limit)
  const found = useLoad(
    signal => (q ? api<RowsFound>('/v1/search', { body, signal }) : Promise.resolve(undefined)),
    [JSON.stringify(body)],
    ['generation', 'index'],
  )
  const f = q ? found.data : undefined
  return (
    <>
      <SearchForm
        kind="data"
        names={{
          q: 'What to look for',
          keywords: 'Exact words (comma separated)',
          table: 'Tables',
          where: 'Condition in SQL',
          limit: 'Most results',
        }}
      >
        <label class="row">
          <span>Mode</span>
          <select value={mode} onChange={e => setParams({ mode: e.currentTarget.value })}>
            <option value="">words and meaning</option>
            <option value="vector">meaning</option>
            <option value="keyword">words</option>
          </select>
        </label>
        {q && <Equivalent make={() => requestSnippets({ method: 'POST', path: '/v1/search', body })} />}
      </SearchForm>
      <Failure error={found.error} again={found.reload} />
      {f && !found.error && (
        <div aria-live="polite" class="stack">
          <div class="row">
            <span>
              Rows for “<Foreign text={q!} max={200} />”
            </span>
            <Badge>{modes[f.mode] ?? f.mode}</Badge>
            <span class="soft small">{f.duration_ms} ms</span>
          </div>
          {f.notes?.map(n => (
            <div key={n} class="note warn foreign">
              {shown(n, 500)}
            </div>
          ))}
          {f.results.length === 0 && <Empty>No row was found.</Empty>}
          <ol class="hits">
            {f.results.map((r, i) => (
              <li key={i} class="panel">
                <div class="title">
                  <h3 class="foreign">
                    {shown(r.dataset, 80)}{' '}
                    <span class="soft">{r.primary_key && shown(JSON.stringify(r.primary_key), 80)}</span>
                  </h3>
                  <Badge tone="accent">score {digits(r.score)}</Badge>
                </div>
                {Object.entries(r.matches).map(([column, parts]) => (
                  <div key={column} class="stack">
                    {parts.map((part, k) => (
                      <p key={k}>
                        <code class="soft">{shown(column, 60)}</code>{' '}
                        <Marked text={part} terms={q!.split(/\s+/)} max={1200} />
                      </p>
                    ))}
                  </div>
                ))}
                {r.sources && <Channels channels={r.sources} of={`result ${i + 1}`} />}
              </li>
            ))}
          </ol>
        </div>
      )}
    </>
  )
}
