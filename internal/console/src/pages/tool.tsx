// One tool: try it, its definition, its calls, and why it is hidden from somebody.
import { useEffect, useId, useReducer, useState } from 'preact/hooks'
import { api, ApiError, fetchApi } from '../lib/api.ts'
import { count, millis } from '../lib/format.ts'
import { parseExact } from '../lib/json.ts'
import { useLoad } from '../lib/load.ts'
import { href, param, setParams } from '../lib/route.ts'
import * as snippet from '../lib/snippet.ts'
import { shown, visible } from '../lib/text.ts'
import { argumentsOf, fieldsOf, SchemaForm, type Fields, type Schema } from '../ui/form.tsx'
import {
  Badge,
  Empty,
  Equivalent,
  Failure,
  Foreign,
  Json,
  LongText,
  Panel,
  Tabs,
  requestSnippets,
} from '../ui/parts.tsx'
import { Calls } from './calls.tsx'

interface Tool {
  name: string
  description: string
  parameters: Schema
  returns?: Schema
  owner: string
  source: string
  version: string
  checksum: string
  risk: string
  tags?: string[]
  when_to_use?: string
  not_for?: string
  examples?: { arguments: Record<string, unknown>; result?: unknown }[]
  limits?: Record<string, unknown>
  annotations?: Record<string, boolean>
}

export function ToolPage({ name }: { name: string }) {
  const path = `/v1/tools/${encodeURIComponent(name)}`
  const tool = useLoad(signal => api<Tool>(path, { signal }), [name], ['generation'])
  const t = tool.error ? undefined : tool.data // one that was removed cannot be called any more
  return (
    <>
      <div class="head">
        <h1 class="grow foreign">{shown(name, 80)}</h1>
        {t && <Badge tone={t.risk === 'read' ? 'good' : t.risk === 'write' ? 'warn' : 'bad'}>{t.risk}</Badge>}
        {t && <Badge>{shown(t.source, 60)}</Badge>}
        {t?.owner && <Badge>owner {shown(t.owner, 60)}</Badge>}
        <a href={href(['search'], { tool: name })}>Why is it (not) found?</a>
        <a href={href(['tools'])}>All tools</a>
      </div>
      <Failure error={tool.error} again={tool.reload} />
      {t && <Summary tool={t} />}
      <Tabs
        label="About the tool"
        current={param('tab', t || !tool.error ? 'try' : 'visibility')}
        choose={tab => setParams({ tab: tab === 'try' ? '' : tab })}
        tabs={[
          ...(t
            ? [
                { id: 'try', title: 'Try it', body: () => <Try tool={t} /> },
                { id: 'definition', title: 'Definition', body: () => <Definition tool={t} path={path} /> },
              ]
            : []),
          { id: 'calls', title: 'Calls', body: () => <Calls tool={name} /> },
          { id: 'visibility', title: 'Who sees it', body: () => <Visibility name={name} /> },
        ]}
      />
    </>
  )
}

function Summary({ tool }: { tool: Tool }) {
  return (
    <div class="stack">
      <p class="foreign" dir="auto">
        {shown(tool.description, 1000)}
      </p>
      {tool.when_to_use && (
        <p class="soft foreign">
          <strong>When to use:</strong> {shown(tool.when_to_use, 600)}
        </p>
      )}
      {tool.not_for && (
        <p class="soft foreign">
          <strong>Not for:</strong> {shown(tool.not_for, 600)}
        </p>
      )}
      {tool.tags && tool.tags.length > 0 && (
        <div class="row">
          {tool.tags.map(tag => (
            <a key={tag} class="badge" href={href(['tools'], { tag })}>
              {shown(tag, 40)}
            </a>
          ))}
        </div>
      )}
    </div>
  )
}

interface Outcome {
  ok: boolean
  result?: unknown
  returned?: number
  more?: number
  truncated?: boolean
  notices?: string[]
  error?: {
    code: string
    message: string
    hint?: string
    approval_id?: string
    faults?: { path: string; message: string }[]
  }
  metrics?: { latency_ms: number; cache?: string }
}

/** Try calls the tool with arguments from a form or as JSON. */
function Try({ tool }: { tool: Tool }) {
  const asJson = param('args') === 'json'
  const first = tool.examples?.[0]?.arguments ?? {}
  // What was entered last is in a reference: a click may come before the form is drawn again.
  const [entered] = useState(() => ({ fields: fieldsOf(tool.parameters, first), text: JSON.stringify(first, null, 2) }))
  const [, draw] = useReducer((n: number) => n + 1, 0)
  const enter = (change: Partial<{ fields: Fields; text: string }>) => {
    Object.assign(entered, change)
    draw(undefined)
  }
  const [busy, setBusy] = useState<AbortController>()
  const [outcome, setOutcome] = useState<{ value: Outcome; text: string }>()
  const [failed, setFailed] = useState<Error>()
  useEffect(() => () => busy?.abort(), [busy])

  const args = (): string => {
    const { fields, text } = entered
    if (!asJson) return argumentsOf(tool.parameters, fields)
    try {
      JSON.parse(text)
    } catch (e) {
      throw new Error(`The arguments are not JSON: ${(e as Error).message}`)
    }
    return text
  }
  const path = `/v1/tools/${encodeURIComponent(tool.name)}:invoke`
  const bodyOf = (dry: boolean) => `{"schema_version": "0.1.0", "args": ${args()}${dry ? ', "dry_run": true' : ''}}`
  const call = async (dry: boolean) => {
    setFailed(undefined)
    setOutcome(undefined)
    const stop = new AbortController()
    try {
      const body = bodyOf(dry)
      setBusy(stop)
      const response = await fetchApi(path, {
        method: 'POST',
        body,
        headers: { 'Content-Type': 'application/json' },
        signal: stop.signal,
      })
      const answer = await response.text()
      setOutcome({ value: JSON.parse(answer) as Outcome, text: answer })
    } catch (e) {
      const body = e instanceof ApiError ? (e.body as Outcome | undefined) : undefined
      if (body?.error && 'ok' in body) setOutcome({ value: body, text: JSON.stringify(body) })
      else if (!stop.signal.aborted) setFailed(e as Error)
    } finally {
      setBusy(undefined)
    }
  }
  const code = () => {
    const body = parseExact(args())
    return [
      ...requestSnippets({ method: 'POST', path: `/v1/tools/${encodeURIComponent(tool.name)}`, body }),
      { title: 'MCP', text: snippet.mcp(tool.name, body) },
    ]
  }
  return (
    <form
      class="stack"
      onSubmit={e => {
        e.preventDefault()
        void call(false)
      }}
    >
      <Panel
        title="Arguments"
        action={
          <label class="check">
            <input
              type="checkbox"
              checked={asJson}
              onChange={e => {
                const json = e.currentTarget.checked
                try {
                  if (json)
                    enter({ text: JSON.stringify(parseExact(argumentsOf(tool.parameters, entered.fields)), null, 2) })
                  else enter({ fields: fieldsOf(tool.parameters, parseExact(entered.text)) })
                } catch {
                  // What is half written stays in the other form as it was.
                }
                setParams({ args: json ? 'json' : '' })
              }}
            />
            as JSON
          </label>
        }
      >
        {asJson ? (
          <textarea
            class="mono"
            rows={8}
            aria-label="Arguments as JSON"
            value={entered.text}
            spellcheck={false}
            onInput={e => {
              enter({ text: e.currentTarget.value })
            }}
          />
        ) : (
          <SchemaForm
            schema={tool.parameters}
            fields={entered.fields}
            change={to => {
              enter({ fields: to })
            }}
          />
        )}
        <div class="row">
          <button class="primary" disabled={!!busy}>
            {busy ? 'Running…' : 'Call'}
          </button>
          <button type="button" disabled={!!busy} onClick={() => void call(true)}>
            Dry run
          </button>
          {busy && (
            <button type="button" class="danger" onClick={() => busy.abort()}>
              Cancel
            </button>
          )}
          <Code make={code} onError={setFailed} />
          {(tool.examples?.length ?? 0) > 1 && (
            <select
              aria-label="Arguments of an example"
              onChange={e => {
                const example = tool.examples![Number(e.currentTarget.value)]!.arguments
                enter({ fields: fieldsOf(tool.parameters, example), text: JSON.stringify(example, null, 2) })
              }}
            >
              {tool.examples!.map((x, i) => (
                <option key={i} value={i}>
                  Example {i + 1}: {shown(JSON.stringify(x.arguments), 60)}
                </option>
              ))}
            </select>
          )}
        </div>
      </Panel>
      <Failure error={failed} />
      <div aria-live="polite">{outcome && <Result outcome={outcome.value} />}</div>
    </form>
  )
}

/** Code is Equivalent for arguments that may not be complete. */
function Code({ make, onError }: { make: () => { title: string; text: string }[]; onError: (e: Error) => void }) {
  try {
    make()
  } catch (e) {
    return (
      <button type="button" onClick={() => onError(e as Error)}>
        As code
      </button>
    )
  }
  return <Equivalent make={make} />
}

function Result({ outcome: o }: { outcome: Outcome }) {
  const waits = o.error?.approval_id !== undefined
  return (
    <Panel
      title={o.ok ? 'Result' : waits ? 'It waits for approval' : 'It failed'}
      action={
        <>
          {o.returned != null && <Badge>{count(o.returned)} rows</Badge>}
          {o.truncated && <Badge tone="warn">{o.more ? `${count(o.more)} more` : 'more rows exist'}</Badge>}
          {o.metrics && <Badge>{millis(o.metrics.latency_ms)}</Badge>}
          {o.metrics?.cache === 'hit' && <Badge tone="good">cached</Badge>}
        </>
      }
    >
      {o.notices?.map(n => (
        <div key={n} class="note warn foreign">
          {shown(n, 600)}
        </div>
      ))}
      {o.error && (
        <div class={`note ${waits ? 'warn' : 'bad'}`} role="alert">
          <strong class="foreign">{visible(o.error.message)}</strong>
          {o.error.hint && <span class="foreign">{visible(o.error.hint)}</span>}
          <code class="small">{o.error.code}</code>
          {o.error.faults?.map((f, i) => (
            <span key={i} class="foreign">
              <code>{shown(f.path || '/', 80)}</code> {shown(f.message, 300)}
            </span>
          ))}
          {o.error.approval_id && (
            <a href={href(['approvals', o.error.approval_id])}>A person has to approve it: see the approval</a>
          )}
        </div>
      )}
      {o.ok && <Json value={o.result} />}
    </Panel>
  )
}

function Definition({ tool, path }: { tool: Tool; path: string }) {
  return (
    <>
      <div class="row">
        <Equivalent make={() => requestSnippets({ method: 'GET', path })} />
        <span class="soft small">
          version {shown(tool.version, 40)}, checksum <code>{tool.checksum}</code>
        </span>
      </div>
      <div class="columns">
        <Panel title="Parameters">
          <Json value={tool.parameters} />
        </Panel>
        <Panel title="Returns">{tool.returns ? <Json value={tool.returns} /> : <Empty>Not declared.</Empty>}</Panel>
        {tool.limits && (
          <Panel title="Limits">
            <Json value={tool.limits} />
          </Panel>
        )}
        {tool.annotations && (
          <Panel title="Annotations">
            <Json value={tool.annotations} />
          </Panel>
        )}
        {tool.examples && (
          <Panel title="Examples">
            <Json value={tool.examples} />
          </Panel>
        )}
      </div>
      <p class="small">
        {tool.source === 'function' && <a href={href(['functions', tool.name])}>The function that it is</a>}
      </p>
    </>
  )
}

interface Status {
  callable: boolean
  declared?: string
  hidden_by?: string
  reason?: string
  warning?: string
  stages: { stage: string; passed: boolean; reason?: string }[]
}

interface Agent {
  name: string
  tools?: { mode?: string; advertised?: string[] | null }
}

const context = { user: 'X-Spiced-User', space: 'X-Spiced-Space', session: 'X-Spiced-Session', agent: 'X-Spiced-Agent' }

/** Visibility explains whether a caller sees the tool, for a context that the form chooses. */
function Visibility({ name }: { name: string }) {
  const path = `/v1/tools/${encodeURIComponent(name)}?explain=true`
  const headers: Record<string, string> = {}
  for (const [field, header] of Object.entries(context)) if (param(field)) headers[header] = param(field)
  const status = useLoad(
    signal => api<Status>(path, { headers, signal }),
    [name, JSON.stringify(headers)],
    ['generation'],
  )
  const agents = useLoad(
    signal =>
      api<{ agents: Agent[] }>('/v1/agents', { signal }).then(
        x => x.agents,
        () => [], // a process that serves no models has no agents
      ),
    [],
    ['generation'],
  )
  const id = useId()
  const s = status.data
  const agent = agents.data?.find(a => a.name === param('agent'))
  const given = agent?.tools?.mode !== 'direct' || agent.tools.advertised?.includes(name)
  return (
    <>
      <Panel title="For whom" action={<Equivalent make={() => requestSnippets({ method: 'GET', path, headers })} />}>
        <div class="fields">
          {Object.keys(context).map(field => (
            <label key={field} class="field">
              {field}
              <input
                type="text"
                list={field === 'agent' ? id : undefined}
                value={param(field)}
                onInput={e => setParams({ [field]: e.currentTarget.value })}
              />
            </label>
          ))}
        </div>
        <datalist id={id}>
          {agents.data?.map(a => (
            <option key={a.name} value={a.name} />
          ))}
        </datalist>
        <p class="soft small">Empty: this page's own requests. With keys, only some may name another user.</p>
      </Panel>
      <Failure error={status.error} again={status.reload} />
      {s && !status.error && (
        <Panel title={s.callable ? 'It can be called' : `It cannot be called: ${s.hidden_by ?? ''}`}>
          {s.callable && !given && (
            <div class="note warn">
              The agent is not given this tool: it has {agent!.tools!.advertised!.map(t => shown(t, 60)).join(', ')}.
            </div>
          )}
          {s.reason && <LongText text={s.reason} />}
          {s.warning && <div class="note warn foreign">{shown(s.warning, 600)}</div>}
          <ol class="stages">
            {s.stages.map(stage => (
              <li key={stage.stage} class="row">
                <Badge tone={stage.passed ? 'good' : 'bad'}>{stage.passed ? 'passed' : 'stopped'}</Badge>
                <code>{stage.stage}</code>
                {stage.reason && <Foreign text={stage.reason} max={400} />}
              </li>
            ))}
          </ol>
          {s.declared && (
            <p class="soft small">
              Declared: <code>{shown(s.declared, 200)}</code>
            </p>
          )}
        </Panel>
      )}
    </>
  )
}
