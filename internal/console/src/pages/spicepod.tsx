// The files of the Spicepod, read-only, with the problems of the last load at their places and what each
// key means.
import { useMemo, useReducer, useState } from 'preact/hooks'
import { api, ApiError, fetchApi, type Problem } from '../lib/api.ts'
import { bytes, plural } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import { describe, type PodSchema } from '../lib/podschema.ts'
import { param, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { CodeEditor, type Language } from '../ui/code.tsx'
import { Badge, Empty, Equivalent, Failure, ProblemNote, requestSnippets } from '../ui/parts.tsx'

interface File {
  path: string
  spicepod: string
  bytes: number
  main: boolean
}

const languages: Record<string, Language> = { sql: 'sql', yaml: 'yaml', yml: 'yaml', json: 'json', py: 'python' }

const languageOf = (path: string): Language => languages[path.split('.').pop() ?? ''] ?? 'yaml'

/** placeOf reads a line and a column, such as 12:3. */
function placeOf(text: string): { line: number; column: number } | undefined {
  const [, line, column] = /^(\d{1,9})(?::(\d{1,9}))?$/.exec(text) ?? []
  return line ? { line: Number(line), column: Number(column ?? 1) } : undefined
}

export default function Spicepod() {
  const files = useLoad(signal => api<File[]>('/v1/spicepods/files', { signal }), [], ['generation'])
  const status = useLoad(signal => api<{ problems?: Problem[] }[]>('/v1/status', { signal }), [], ['generation'])
  const problems = status.data?.flatMap(c => c.problems ?? []) ?? []
  // Only a file of the list is fetched: another name could be any path of the runtime.
  const wanted = param('file')
  const path = wanted ? (files.data?.find(f => f.path === wanted)?.path ?? '') : (files.data?.[0]?.path ?? '')
  const url = '/v1/spicepods/files/' + path.split('/').map(encodeURIComponent).join('/')
  const file = useLoad(
    async signal => {
      if (!path) return undefined
      const response = await fetchApi(url, { headers: { Accept: 'text/plain' }, signal })
      return { text: await response.text(), masked: Number(response.headers.get('X-Spiced-Masked') ?? 0) }
    },
    [path],
    ['generation'],
  )
  const schema = useLoad(signal => api<PodSchema>('/v1/schema/spicepod.json', { signal }), [])
  const own = problems.filter(p => p.file === path)
  const elsewhere = problems.filter(p => p.file !== path)
  const [at, setAt] = useState<string[]>([])
  // Choosing a place again goes there again, so each choice is a value of its own.
  const [chosen, choose] = useReducer((n: number) => n + 1, 0)
  const place = useMemo(() => placeOf(param('at')), [path, param('at'), chosen])
  const about = (keys: string[]) =>
    schema.data && languageOf(path) === 'yaml' ? describe(schema.data, keys) : undefined
  if (files.error instanceof ApiError && files.error.status === 403)
    return (
      <>
        <h1>Spicepod</h1>
        <div class="note warn">Only a key that may write sees the files of the Spicepod.</div>
      </>
    )
  return (
    <>
      <div class="head">
        <h1 class="grow">Spicepod</h1>
        {path && <Equivalent make={() => requestSnippets({ method: 'GET', path: url })} />}
      </div>
      <Failure error={files.error ?? status.error} again={files.reload} />
      <div class="row">
        <label class="row">
          <span>File</span>
          <select value={path} onChange={e => setParams({ file: e.currentTarget.value, at: '' })}>
            {files.data?.map(f => (
              <option key={f.path} value={f.path}>
                {shown(f.path, 100)}
              </option>
            ))}
          </select>
        </label>
        {files.data
          ?.filter(f => f.path === path)
          .map(f => (
            <span key={f.path} class="soft small foreign">
              {bytes(f.bytes)}, of {shown(f.spicepod, 60)}
            </span>
          ))}
        {file.data && file.data.masked > 0 && <Badge>{plural(file.data.masked, 'secret')} masked</Badge>}
        {own.length > 0 && <Badge tone="bad">{plural(own.length, 'problem')}</Badge>}
      </div>
      <Failure error={file.error} again={file.reload} />
      {files.data && !path && (
        <Empty>{wanted ? `The Spicepod has no file “${shown(wanted, 100)}”.` : 'The Spicepod has no files.'}</Empty>
      )}
      {file.data && (
        <CodeEditor
          key={path}
          language={languageOf(path)}
          label={`The file ${shown(path, 100)}`}
          value={file.data.text}
          readOnly
          lines={[10, 40]}
          at={place}
          describe={about}
          onPath={setAt}
          diagnostics={own.map(p => {
            const d = { line: p.line, column: p.column, message: p.message, severity: p.severity }
            return p.hint ? { ...d, hint: p.hint } : d
          })}
        />
      )}
      {about(at) && (
        <pre class="wrap" aria-live="polite" aria-label="The key at the cursor" tabIndex={0}>
          {about(at)}
        </pre>
      )}
      <div class="stack" onClick={e => (e.target as Element).closest('a')?.href === location.href && choose(undefined)}>
        {own.map((p, i) => (
          <ProblemNote key={i} problem={p} />
        ))}
      </div>
      {elsewhere.length > 0 && <h2>Problems elsewhere</h2>}
      {elsewhere.map((p, i) => (
        <ProblemNote key={i} problem={p} />
      ))}
    </>
  )
}
