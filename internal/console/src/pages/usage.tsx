// Usage: calls and tokens by tool, agent, model and day, and who calls the tools of whom.
import { useMemo } from 'preact/hooks'
import { rows } from '../lib/api.ts'
import { ago, brief, count, millis, percent } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { param, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Badge, Empty, Equivalent, Failure, Figure, Panel, Tabs } from '../ui/parts.tsx'
import { Plot } from '../ui/plot.tsx'
import { Table } from '../ui/table.tsx'
import { Calls, ToolLink } from './calls.tsx'

export default function Usage() {
  return (
    <>
      <div class="head">
        <h1 class="grow">Usage</h1>
        <label class="row">
          <span>Days</span>
          <select
            value={days()}
            onChange={e => setParams({ days: e.currentTarget.value === '30' ? '' : e.currentTarget.value })}
          >
            {periods.map(d => (
              <option key={d} value={d}>
                {d}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Tabs
        label="Usage of"
        current={param('of', 'tools')}
        choose={of => setParams({ of: of === 'tools' ? '' : of })}
        tabs={[
          { id: 'tools', title: 'Tools', body: () => <ToolUsage /> },
          { id: 'models', title: 'Models', body: () => <ModelUsage /> },
          { id: 'agents', title: 'Agents', body: () => <CrossAgent /> },
          { id: 'calls', title: 'Last calls', body: () => <Calls /> },
        ]}
      />
    </>
  )
}

const periods = ['1', '7', '30', '90']

const days = (): string => (periods.includes(param('days')) ? param('days') : '30')

interface ToolDay {
  tool: string
  owner: string | null
  caller: string | null
  day: string
  calls: number
  errors: number
  cached: number
  total_ms: number
  p95_ms: number | null
  last_at: string
}

function ToolUsage() {
  const sql = `SELECT tool, owner, caller, day, calls, errors, cached, total_ms, p95_ms, last_at
FROM spiced.tool_usage WHERE day > current_date - ${days()} ORDER BY day, tool`
  const used = useLoad(signal => rows<ToolDay>(sql, [], signal), [sql], ['call'])
  const list = used.data ?? []
  const byDay = useMemo(() => sum(list, d => d.day), [list])
  return (
    <>
      <Failure error={used.error} again={used.reload} />
      {used.data && list.length === 0 && <Empty>No tool was called in these days.</Empty>}
      {list.length > 0 && (
        <Panel title="Calls by day">
          <Plot
            label="Calls by day"
            deps={[byDay]}
            options={plot => ({
              height: 180,
              x: { label: null, type: 'band' },
              y: { grid: true, label: 'calls' },
              marks: [plot.barY(byDay, { x: 'name', y: 'calls', fill: 'var(--blue)' }), plot.ruleY([0])],
            })}
          />
        </Panel>
      )}
      <Table
        label="Calls by tool, caller and day"
        filter="Filter calls"
        rows={list}
        id={d => JSON.stringify([d.tool, d.owner, d.caller, d.day])}
        sort="-calls"
        empty={used.loading ? 'Loading…' : 'None.'}
        tools={<Equivalent make={() => [{ title: 'SQL', text: sql }]} />}
        columns={[
          {
            key: 'tool',
            title: 'Tool',
            value: d => d.tool,
            show: d => <ToolLink tool={d.tool} />,
          },
          { key: 'owner', title: 'Owner', value: d => d.owner },
          { key: 'caller', title: 'Caller', value: d => d.caller },
          { key: 'day', title: 'Day', value: d => d.day },
          { key: 'calls', title: 'Calls', value: d => d.calls, number: true },
          { key: 'errors', title: 'Errors', value: d => d.errors, number: true },
          { key: 'cached', title: 'From the cache', value: d => d.cached, number: true },
          {
            key: 'mean',
            title: 'Mean',
            value: d => d.total_ms / Math.max(1, d.calls),
            show: d => millis(d.total_ms / Math.max(1, d.calls)),
            number: true,
          },
          { key: 'p95', title: 'p95', value: d => d.p95_ms, show: d => millis(d.p95_ms), number: true },
          { key: 'last', title: 'Last', value: d => d.last_at, show: d => ago(d.last_at) },
        ]}
      />
    </>
  )
}

/** sum adds up the calls of the rows with the same name. */
function sum(list: ToolDay[], name: (d: ToolDay) => string): { name: string; calls: number }[] {
  const totals = new Map<string, number>()
  for (const d of list) totals.set(name(d), (totals.get(name(d)) ?? 0) + d.calls)
  return [...totals].map(([n, calls]) => ({ name: n, calls }))
}

interface ModelDay {
  model: string
  day: string
  chats: number
  failed: number
  rounds: number
  tool_calls: number
  input_tokens: number
  output_tokens: number
  cache_read_tokens: number
  definition_tokens: number
  first_token_p50_ms: number | null
  total_ms: number
}

const chatEnded = (work: { kind: string; ended: boolean }): boolean => work.kind === 'chat' && work.ended

function ModelUsage() {
  const sql = `SELECT model, day, chats, failed, rounds, tool_calls, input_tokens, output_tokens, cache_read_tokens,
  definition_tokens, first_token_p50_ms, total_ms
FROM spiced.model_usage WHERE day > current_date - ${days()} ORDER BY day, model`
  const used = useLoad(signal => rows<ModelDay>(sql, [], signal), [sql], ['work'], chatEnded)
  const list = used.data ?? []
  const total = (of: (d: ModelDay) => number) => list.reduce((n, d) => n + of(d), 0)
  const input = total(d => d.input_tokens)
  const parts = useMemo(
    () =>
      list.flatMap(d => [
        { day: d.day, kind: 'read from the cache', tokens: d.cache_read_tokens },
        { day: d.day, kind: 'other input', tokens: Math.max(0, d.input_tokens - d.cache_read_tokens) },
        { day: d.day, kind: 'output', tokens: d.output_tokens },
      ]),
    [list],
  )
  return (
    <>
      <Failure error={used.error} again={used.reload} />
      <div class="figures">
        <Figure value={brief(total(d => d.chats))} label="chats" />
        <Figure value={brief(input)} label="input tokens" />
        <Figure
          value={input > 0 ? percent(total(d => d.cache_read_tokens) / input) : '–'}
          label="of them from the cache"
        />
        <Figure
          value={input > 0 ? percent(total(d => d.definition_tokens) / input) : '–'}
          label="of them definitions of tools"
        />
        <Figure value={brief(total(d => d.output_tokens))} label="output tokens" />
        <Figure value={brief(total(d => d.tool_calls))} label="calls of tools" />
      </div>
      {list.length > 0 && (
        <Panel title="Tokens by day">
          <Plot
            label="Tokens by day: input read from the cache, other input, output"
            deps={[parts]}
            options={plot => ({
              height: 200,
              x: { label: null, type: 'band' },
              y: { grid: true, label: 'tokens', tickFormat: 's' },
              color: {
                legend: true,
                domain: ['read from the cache', 'other input', 'output'],
                range: ['var(--good)', 'var(--blue)', 'var(--accent)'],
              },
              marks: [plot.barY(parts, { x: 'day', y: 'tokens', fill: 'kind' }), plot.ruleY([0])],
            })}
          />
        </Panel>
      )}
      <Table
        label="Models by day"
        filter="Filter models"
        rows={list}
        id={d => JSON.stringify([d.model, d.day])}
        sort="-day"
        empty={used.loading ? 'Loading…' : 'No model answered in these days.'}
        tools={<Equivalent make={() => [{ title: 'SQL', text: sql }]} />}
        columns={[
          { key: 'model', title: 'Model', value: d => d.model },
          { key: 'day', title: 'Day', value: d => d.day },
          { key: 'chats', title: 'Chats', value: d => d.chats, number: true },
          { key: 'failed', title: 'Failed', value: d => d.failed, number: true },
          { key: 'rounds', title: 'Rounds', value: d => d.rounds, number: true },
          { key: 'tools', title: 'Tool calls', value: d => d.tool_calls, number: true },
          { key: 'input', title: 'Input', value: d => d.input_tokens, number: true },
          { key: 'cache', title: 'From the cache', value: d => d.cache_read_tokens, number: true },
          { key: 'definitions', title: 'Definitions', value: d => d.definition_tokens, number: true },
          { key: 'output', title: 'Output', value: d => d.output_tokens, number: true },
          {
            key: 'first',
            title: 'First token',
            value: d => d.first_token_p50_ms,
            show: d => millis(d.first_token_p50_ms),
            number: true,
          },
        ]}
      />
    </>
  )
}

interface Pair {
  caller: string | null
  tool: string
  owner: string | null
  calls: number
  errors: number
  last_at: string
  foreign_calls: number
}

const pairsSql = `SELECT caller, tool, owner, sum(calls)::BIGINT AS calls, sum(errors)::BIGINT AS errors, max(last_at) AS last_at,
  sum(foreign_calls)::BIGINT AS foreign_calls
FROM spiced.tool_usage GROUP BY ALL ORDER BY calls DESC`

/** CrossAgent shows who called which tools, and sums it up by owner: a call of another agent's tool is foreign. */
function CrossAgent() {
  const pairs = useLoad(signal => rows<Pair>(pairsSql, [], signal), [], ['call'])
  const list = pairs.data ?? []
  const owners = [...new Set(list.map(p => p.owner))]
  const callers = [...new Set(list.map(p => p.caller))]
  const sum = (of: (p: Pair) => number, caller: string | null, owner: string | null) =>
    list.filter(p => p.caller === caller && p.owner === owner).reduce((n, p) => n + of(p), 0)
  const most = Math.max(1, ...callers.flatMap(c => owners.map(o => sum(p => p.calls, c, o))))
  return (
    <>
      <Failure error={pairs.error} again={pairs.reload} />
      <Panel
        title="Who calls the tools of whom"
        action={<Equivalent make={() => [{ title: 'SQL', text: pairsSql }]} />}
      >
        {pairs.data && list.length === 0 && <Empty>No tool was called yet.</Empty>}
        {list.length > 0 && (
          <div class="table" tabIndex={0} role="region" aria-label="Calls by caller and owner">
            <table>
              <thead>
                <tr>
                  <th scope="col">
                    <span>Caller ↓ Owner →</span>
                  </th>
                  {owners.map(o => (
                    <th key={o} scope="col" class="right">
                      <span class="foreign">{o === null ? 'no tool' : shown(o, 40)}</span>
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {callers.map(caller => (
                  <tr key={caller}>
                    <th scope="row">
                      <span class="foreign">{shown(caller || 'not named', 60)}</span>
                    </th>
                    {owners.map(owner => {
                      const n = sum(p => p.calls, caller, owner)
                      const heat = n === 0 ? 0 : 8 + (40 * Math.log1p(n)) / Math.log1p(most)
                      return (
                        <td
                          key={owner}
                          class="right"
                          style={{ background: `color-mix(in srgb, var(--accent) ${heat / 2}%, transparent)` }}
                        >
                          {n > 0 ? count(n) : ''}{' '}
                          {sum(p => p.foreign_calls, caller, owner) > 0 && <Badge tone="warn">foreign</Badge>}
                        </td>
                      )
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Panel>
      <Table
        label="Calls by caller and tool"
        filter="Filter callers and tools"
        name="p"
        rows={list}
        id={p => JSON.stringify([p.caller, p.tool, p.owner])}
        sort="-calls"
        empty={pairs.loading ? 'Loading…' : 'No tool was called yet.'}
        columns={[
          { key: 'caller', title: 'Caller', value: p => p.caller || null },
          {
            key: 'tool',
            title: 'Tool',
            value: p => p.tool,
            show: p => <ToolLink tool={p.tool} />,
          },
          { key: 'owner', title: 'Owner', value: p => p.owner },
          { key: 'calls', title: 'Calls', value: p => p.calls, number: true },
          { key: 'errors', title: 'Errors', value: p => p.errors, number: true },
          { key: 'foreign', title: 'Foreign calls', value: p => p.foreign_calls, number: true },
          { key: 'last', title: 'Last', value: p => p.last_at, show: p => ago(p.last_at) },
        ]}
      />
    </>
  )
}
