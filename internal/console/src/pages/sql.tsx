// The SQL page: an editor, and the results of the statements that were run.
import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, key } from '../lib/api.ts'
import { useEvents } from '../lib/events.ts'
import { param, setParams } from '../lib/route.ts'
import type { Catalog, typeOf } from '../lib/sqlcatalog.ts'
import { remember } from '../lib/sqlhistory.ts'
import {
  type Job,
  type Mode,
  type Parameter,
  mostStatements,
  repeats,
  request,
  running,
  runs,
  start,
  stop,
} from '../lib/sqlrun.ts'
import { type Statement, parametersOf, statementAt, statements } from '../lib/sqltext.ts'
import { own, shown } from '../lib/text.ts'
import { CodeEditor, type Diagnostic, type Selection } from '../ui/code.tsx'
import type { Editor } from '../ui/editor.ts'
import { Equivalent, Failure, Tabs, requestSnippets } from '../ui/parts.tsx'
import { History } from './sql-history.tsx'
import { Parameters } from './sql-parameters.tsx'
import { RunView, RunTitle } from './sql-run.tsx'
import './sql.css'

const mostShared = 8_000 // characters of a text that is part of the address
const example = 'SELECT name, kind, state, columns FROM spiced.datasets ORDER BY name'

const none: Catalog['completions'] = []

/** The text of the editor; it stays when another page is looked at. */
const draft = signal(param('q') || example)
const values = signal<Record<string, Parameter>>({})
/** What the runs are of: an edit after it makes the places of their errors wrong. */
const ran = signal('')

export default function SqlPage() {
  const linked = param('q')
  const text = draft.value
  const editor = useRef<Editor | undefined>(undefined)
  const [current, setCurrent] = useState('')
  const [refused, setRefused] = useState<Error>()
  const [catalog, setCatalog] = useState<Catalog & { typeOf: typeof typeOf }>()
  const names = useMemo(() => parametersOf(text), [text])

  // The address is the state: a link that is followed here puts its text into the editor. What this
  // page has written into the address itself is older than what is in the editor.
  const written = useRef('')
  useEffect(() => {
    if (linked && linked !== written.current) draft.value = linked
    written.current = linked
  }, [linked])
  useEffect(() => {
    const wait = setTimeout(() => {
      written.current = text.length <= mostShared ? text : ''
      setParams({ q: written.current })
    }, 300)
    return () => clearTimeout(wait)
  }, [text, linked])

  const [generation, setGeneration] = useState(0)
  useEvents(['generation'], () => setGeneration(n => n + 1))
  useEffect(() => {
    const end = new AbortController()
    import('../lib/sqlcatalog.ts')
      .then(async m => ({ ...(await m.loadCatalog(end.signal)), typeOf: m.typeOf }))
      .then(setCatalog, () => {})
    return () => end.abort()
  }, [generation, key.value])

  /** A parameter as it is typed, or empty, with the type that its function declares. */
  const parameter = (name: string): Parameter =>
    own(values.value, name) ?? { name, type: catalog?.typeOf(catalog.types, draft.value, name) ?? 'text', text: '' }
  const parametersIn = (sql: string): Parameter[] => parametersOf(sql).map(parameter)
  const run = (chosen: Statement[], mode: Mode) => {
    setRefused(undefined)
    if (chosen.length === 0)
      return setRefused(new ApiError(0, '', 'There is no statement to run.', 'Write one, such as SELECT 1.'))
    if (chosen.length > mostStatements)
      return setRefused(
        new ApiError(
          0,
          'too_many_statements',
          `${chosen.length} statements are too many for one run`,
          `run ${mostStatements} at most: select some of them`,
        ),
      )
    const jobs = chosen.map((s): Job => ({
      sql: s.text,
      mode,
      parameters: parametersIn(s.text),
      ...placeOf(draft.peek(), s.from),
    }))
    try {
      for (const job of jobs) request(job, '')
    } catch (error) {
      return setRefused(error as Error)
    }
    if (repeats(jobs)) return
    // The settings of a chart are of one statement; a link has them before its statement is first run.
    const before = runs.peek()[0]?.job.sql
    if (before !== undefined && before !== jobs[0]!.sql) setParams({ chart: '', x: '', y: '', color: '' })
    ran.value = draft.peek()
    setCurrent('')
    void start(jobs).then(() => {
      for (const r of runs.peek())
        if (r.state !== 'skipped' && r.job.mode === 'rows')
          remember({
            sql: r.job.sql,
            at: r.started,
            took: r.took,
            rows: r.state === 'done' ? r.result.rows : null,
            state: r.state,
          })
    })
  }
  const selected = (s: Selection = editor.current?.selection() ?? { from: 0, to: 0 }): Statement[] => {
    const t = draft.peek()
    if (s.from !== s.to)
      return statements(t.slice(s.from, s.to)).map(x => ({ ...x, from: x.from + s.from, to: x.to + s.from }))
    const one = statementAt(t, s.from)
    return one ? [one] : []
  }

  const list = runs.value
  const diagnostics = useMemo(
    () => (ran.value === text ? list.flatMap(faultOf) : []),
    [list, text, list.map(r => r.version.value).join()],
  )
  const many = useMemo(() => statements(text).length > 1, [text])
  const first = list[0]

  return (
    <>
      <div class="head">
        <h1 class="grow">SQL</h1>
        <History choose={sql => ((draft.value = sql), editor.current?.focus())} />
        <Equivalent
          make={() => {
            const [s] = selected()
            const sql = s?.text ?? text
            try {
              const r = request({ sql, mode: 'rows', parameters: parametersIn(sql) }, 'application/json')
              const parsed = r.headers['Content-Type'] === 'application/json'
              return requestSnippets({
                method: 'POST',
                path: '/v1/sql',
                body: r.body,
                headers: parsed ? { 'Content-Type': 'application/json' } : {},
              })
            } catch {
              return requestSnippets({ method: 'POST', path: '/v1/sql', body: sql })
            }
          }}
        />
      </div>
      <div class="sql-input">
        <CodeEditor
          language="sql"
          label="Statements"
          value={text}
          onChange={t => (draft.value = t)}
          onRun={s => run(selected(s), 'rows')}
          editor={editor}
          diagnostics={diagnostics}
          completions={catalog?.completions ?? none}
          lines={[5, 18]}
        />
        {names.length > 0 && <Parameters list={names.slice(0, 100).map(parameter)} values={values} />}
        {/* Enter that is held on a button clicks it again and again. */}
        <div class="row" onKeyDown={e => e.repeat && e.key === 'Enter' && e.preventDefault()}>
          <button type="button" class="primary" onClick={() => run(selected(), 'rows')}>
            Run <kbd class="small">Ctrl ⏎</kbd>
          </button>
          {many && (
            <button type="button" onClick={() => run(statements(text), 'rows')}>
              Run all
            </button>
          )}
          <button type="button" onClick={() => run(selected(), 'explain')}>
            Explain
          </button>
          <button type="button" onClick={() => run(selected(), 'analyze')} title="Runs the statement and measures it">
            Analyze
          </button>
          {running.value && (
            <button type="button" class="danger" onClick={stop}>
              Cancel
            </button>
          )}
          {text.length > mostShared && (
            <span class="soft small">
              The text is longer than {mostShared} characters, so it is not part of the link.
            </span>
          )}
        </div>
      </div>
      <Failure error={refused} />
      {list.length === 1 && first && <RunView key={first.id} run={first} go={ran.value === text ? goTo : undefined} />}
      {list.length > 1 && (
        <Tabs
          label="Results"
          current={current || String((list.find(r => r.state === 'failed') ?? first)!.id)}
          choose={setCurrent}
          tabs={list.map((r, i) => ({
            id: String(r.id),
            title: <RunTitle run={r} text={`${i + 1}: ${shown(r.job.sql, 28)}`} />,
            body: () => <RunView key={r.id} run={r} go={ran.value === text ? goTo : undefined} />,
          }))}
        />
      )}
    </>
  )

  function goTo(d: Diagnostic) {
    const lines = draft
      .peek()
      .split('\n')
      .slice(0, d.line - 1)
    const at = lines.reduce((sum, l) => sum + l.length + 1, 0)
    editor.current?.select(
      at + [...(draft.peek().slice(at).split('\n')[0] ?? '')].slice(0, d.column - 1).join('').length,
    )
  }
}

/** placeOf is the line and the column of an offset, as the API counts: from 1, in characters. */
function placeOf(text: string, at: number): { line: number; column: number } {
  const before = text.slice(0, at)
  const line = before.split('\n').length
  return { line, column: [...before.slice(before.lastIndexOf('\n') + 1)].length + 1 }
}

const faultOf = ({ error: e }: { error: Error | undefined }): Diagnostic[] =>
  e instanceof ApiError && e.line > 0 ? [{ line: e.line, column: e.column, message: e.message, hint: e.hint }] : []
