// Functions: the list, or one function with its body, tests and lineage.
import { useState } from 'preact/hooks'
import { api, caller, rows, type Problem } from '../lib/api.ts'
import { count, millis } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { errorOf, useProblems } from '../lib/problems.ts'
import { href, param, segments, setParams } from '../lib/route.ts'
import { shown, visible } from '../lib/text.ts'
import {
  Badge,
  Empty,
  Equivalent,
  Failure,
  LongText,
  Outdated,
  Panel,
  Place,
  State,
  Tabs,
  requestSnippets,
} from '../ui/parts.tsx'
import { Code, type Language } from '../ui/code.tsx'
import { Table } from '../ui/table.tsx'
import { Lineage } from './lineage.tsx'

interface Fn {
  name: string
  kind: string
  volatility: string
  from: string
  description: string | null
  signature: string
  as_tool: boolean
  deterministic: boolean
  checksum: string
  file: string
  line: number
  execution: string
  body: string | null
  state: string
  tests?: number
}

const all = 'SELECT * FROM spiced.functions ORDER BY name'

export default function Functions() {
  const name = segments.value[1]
  const list = useLoad(signal => rows<Fn>(all, [], signal), [], ['generation'])
  const problems = useProblems()
  if (name === undefined) return <FunctionList list={list.data} error={list.error} problems={problems} />
  const f = list.data?.find(x => x.name === name)
  return (
    <>
      <div class="head">
        <h1 class="grow foreign">{shown(name, 80)}</h1>
        {f && <Badge>{f.kind}</Badge>}
        {f && <Badge>{f.volatility}</Badge>}
        {f && <State state={stateOf(problems, f)} />}
        <a href={href(['functions'])}>All functions</a>
      </div>
      <Failure error={list.error} again={list.reload} />
      {f && <Outdated problem={errorOf(problems, `function ${f.name}`)} />}
      {f ? (
        <FunctionPage f={f} />
      ) : (
        list.data && (
          <Empty>
            No function “{shown(name, 80)}” is served to you.{' '}
            <a href={href(['tools', name], { tab: 'visibility' })}>Why?</a>
          </Empty>
        )
      )}
    </>
  )
}

/** stateOf is the state of a function; an edit with an error leaves its last good version. */
const stateOf = (problems: Problem[], f: Fn): string =>
  errorOf(problems, `function ${f.name}`) ? 'last good version' : f.state

interface FunctionListProps {
  list: Fn[] | undefined
  error: Error | undefined
  problems: Problem[]
}

function FunctionList({ list, error, problems }: FunctionListProps) {
  return (
    <>
      <div class="head">
        <h1 class="grow">Functions</h1>
        <Equivalent
          make={() => [
            { title: 'SQL', text: all },
            { title: 'curl', text: `curl -s '${location.origin}/v1/functions'` },
          ]}
        />
      </div>
      <Failure error={error} />
      <Table
        label="Functions"
        filter="Filter functions"
        rows={list ?? []}
        sort="name"
        empty={list ? 'The Spicepod declares none.' : 'Loading…'}
        columns={[
          {
            key: 'name',
            title: 'Name',
            value: f => f.name,
            show: f => (
              <a class="foreign" href={href(['functions', f.name])}>
                {shown(f.name, 80)}
              </a>
            ),
          },
          {
            key: 'signature',
            title: 'Signature',
            value: f => f.signature,
            show: f => <code>{shown(f.signature, 160)}</code>,
          },
          { key: 'kind', title: 'Kind', value: f => f.kind },
          { key: 'from', title: 'Body', value: f => f.from },
          { key: 'volatility', title: 'Volatility', value: f => f.volatility },
          { key: 'tool', title: 'Tool', value: f => (f.as_tool ? 'yes' : 'no') },
          { key: 'tests', title: 'Tests', value: f => f.tests ?? null, number: true },
          {
            key: 'state',
            title: 'State',
            value: f => stateOf(problems, f),
            show: f => <State state={stateOf(problems, f)} />,
          },
          { key: 'description', title: 'Description', value: f => f.description },
        ]}
      />
    </>
  )
}

function FunctionPage({ f }: { f: Fn }) {
  return (
    <>
      {f.description && <p class="foreign">{shown(f.description, 1000)}</p>}
      <pre class="wrap foreign" tabIndex={0}>
        {visible(f.signature)}
      </pre>
      <div class="row">
        <a class="button" href={href(['sql'], { q: exampleCall(f) })}>
          Open in SQL
        </a>
        {f.as_tool && (
          <a class="button" href={href(['tools', f.name])}>
            Its tool
          </a>
        )}
        <Place file={f.file} line={f.line} />
        <span class="soft small">
          checksum <code>{f.checksum}</code>
        </span>
      </div>
      <Tabs
        label="About the function"
        current={param('tab', 'body')}
        choose={tab => setParams({ tab: tab === 'body' ? '' : tab })}
        tabs={[
          { id: 'body', title: 'Body', body: () => <Body f={f} /> },
          { id: 'lineage', title: 'Lineage', body: () => <Lineage of={`function:${f.name}`} /> },
          { id: 'tests', title: 'Tests', body: () => <Tests name={f.name} /> },
        ]}
      />
    </>
  )
}

/** exampleCall is a statement that calls the function with parameters. */
function exampleCall(f: Fn): string {
  const names = f.signature.slice(f.signature.indexOf('(') + 1).match(/[A-Za-z_]\w*(?= )/g) ?? []
  const inside = f.signature.slice(f.signature.indexOf('(') + 1, f.signature.lastIndexOf(')'))
  const args =
    inside.trim() === ''
      ? ''
      : names
          .slice(0, inside.split(',').length)
          .map(n => '$' + n)
          .join(', ')
  return f.kind === 'table' ? `SELECT * FROM ${f.name}(${args})` : `SELECT ${f.name}(${args})`
}

/** languageOf is the language of the body: SQL, or what the name of its file or its scheme says. */
const languageOf = (f: Fn): Language => (/python|\.py\b/.test(f.from) ? 'python' : 'sql')

function Body({ f }: { f: Fn }) {
  return (
    <>
      <p class="soft">
        Body: {shown(f.from, 200)}. Calls: {shown(f.execution, 300)}.
      </p>
      {f.body ? <Code language={languageOf(f)} text={f.body} /> : <Empty>Its body is not text.</Empty>}
    </>
  )
}

interface TestOutcome {
  name: string
  passed: boolean
  message?: string
  took_ms?: number
}

function Tests({ name }: { name: string }) {
  const [busy, setBusy] = useState(false)
  const [list, setList] = useState<TestOutcome[]>()
  const [failed, setFailed] = useState<Error>()
  const path = `/v1/functions/${encodeURIComponent(name)}:test`
  const may = caller.value?.may_write !== false
  const run = () => {
    setBusy(true)
    setFailed(undefined)
    api<TestOutcome[]>(path, { method: 'POST' })
      .then(setList, setFailed)
      .finally(() => setBusy(false))
  }
  return (
    <>
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={busy || !may}
          title={may ? undefined : 'The key may not write'}
          onClick={run}
        >
          {busy ? 'Running…' : 'Run the tests'}
        </button>
        <Equivalent make={() => requestSnippets({ method: 'POST', path })} />
        <span role="status">
          {list && `${count(list.filter(t => t.passed).length)} of ${count(list.length)} passed`}
        </span>
      </div>
      <Failure error={failed} />
      {list?.length === 0 && <Empty>The function has no tests. Declare them under tests: in the Spicepod.</Empty>}
      {list && list.length > 0 && (
        <Panel label="Outcomes">
          {list.map((t, i) => (
            <div key={i} class="row">
              <Badge tone={t.passed ? 'good' : 'bad'}>{t.passed ? 'passed' : 'failed'}</Badge>
              <span class="foreign">{shown(t.name, 120)}</span>
              <span class="soft small">{millis(t.took_ms)}</span>
              {t.message && <LongText text={t.message} />}
            </div>
          ))}
        </Panel>
      )}
    </>
  )
}
