// Statements that run, and their results. They belong to the console, not to the page: a statement goes
// on while another page is looked at, and its result is there on the way back.
import { effect, signal } from '@preact/signals'
import { ApiError, fetchApi, key } from './api.ts'
import { Result, limits, load } from './arrow.ts'
import { type Plan, readPlan } from './sqlplan.ts'
import { isExplain } from './sqltext.ts'
import { shown } from './text.ts'

export type Mode = 'rows' | 'explain' | 'analyze'

/** A parameter, as the page has it: what was typed, and how it is read. */
export interface Parameter {
  name: string
  type: 'text' | 'number' | 'boolean' | 'json' | 'empty' | 'null'
  text: string
}

export interface Job {
  sql: string
  mode: Mode
  parameters: Parameter[]
  /** Where the statement begins in the editor: line and column from 1. */
  line: number
  column: number
}

export class Run {
  readonly id = ++made
  readonly result: Result
  readonly started = Date.now()
  /** Changes with all that is shown of the run, at most once a frame. */
  readonly version = signal(0)
  state: 'waiting' | 'skipped' | 'running' | 'done' | 'failed' | 'cancelled' = 'waiting'
  error: Error | undefined
  plan: Plan | undefined
  took = 0
  firstRows = 0
  private readonly stop = new AbortController()
  private frame = 0

  constructor(
    readonly job: Job,
    room: number,
  ) {
    this.result = new Result(room)
  }

  private changed = () => {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0
      this.version.value++
    })
  }

  async go() {
    if (this.state !== 'waiting') return
    this.state = 'running'
    this.version.value++
    const begin = performance.now()
    try {
      if (this.job.mode === 'rows') await this.readRows(begin)
      else this.plan = readPlan(await (await this.send('application/json')).json())
      const { end } = this.result
      this.state = end === 'cancelled' ? 'cancelled' : end === 'broken' ? 'failed' : 'done'
    } catch (error) {
      const elsewhere = error instanceof ApiError && error.status === 499 // it was cancelled in another page
      this.state = this.stop.signal.aborted || elsewhere ? 'cancelled' : 'failed'
      if (this.state === 'failed') this.error = placed(error as Error, this.job)
      if (this.state === 'cancelled') this.result.end = 'cancelled'
    }
    this.took = performance.now() - begin
    this.version.value++
  }

  private async readRows(begin: number) {
    const response = await this.send(arrow)
    await load(
      response.body!,
      this.result,
      () => {
        if (this.result.rows > 0) this.firstRows ||= performance.now() - begin
        this.changed()
      },
      this.stop.signal,
    )
  }

  private send(accept: string): Promise<Response> {
    return fetchApi('/v1/sql', { ...request(this.job, accept), signal: this.stop.signal })
  }

  /** What waits is not run. */
  skip() {
    if (this.state !== 'waiting') return
    this.state = 'skipped'
    this.version.value++
  }

  /** Ends the statement: the runtime cancels it when its connection is closed. */
  cancel() {
    this.skip()
    this.stop.abort()
    this.version.value++
  }
}

let made = 0
export const arrow = 'application/vnd.apache.arrow.stream'

/** The runs of the last click on Run. */
export const runs = signal<Run[]>([])
export const running = signal(false)
/** How many statements one click runs at most. */
export const mostStatements = 20

/** start runs statements one after the other, in place of those before; the first that fails is the last. */
export async function start(jobs: Job[]) {
  stop()
  const list = jobs
    .slice(0, mostStatements)
    .map(job => new Run(job, limits.bytes / Math.min(jobs.length, mostStatements)))
  runs.value = list
  running.value = true
  for (const run of list) {
    await run.go()
    if (run.state !== 'done') break
  }
  for (const run of list) run.skip()
  if (runs.peek() !== list) return
  running.value = false
}

const twice = 500 // ms in which a second click is one of a double click

/**
 * repeats reports whether jobs are those that run, or have begun just now: a double click or a key pressed
 * twice must not write twice. What was cancelled or has failed can be run again at once.
 */
export function repeats(jobs: Job[]): boolean {
  const now = runs.peek()
  return (
    now.length > 0 &&
    JSON.stringify(now.map(r => r.job)) === JSON.stringify(jobs) &&
    now.every(r => ['waiting', 'running', 'done'].includes(r.state)) &&
    (running.peek() || Date.now() - now.at(-1)!.started < twice)
  )
}

export function stop() {
  for (const run of runs.peek()) run.cancel()
}

// What one key may see is not shown to the next.
effect(() => {
  void key.value
  stop()
  runs.value = []
  running.value = false
})

const mostPosition = 1000
const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/

/** literal is a parameter as JSON. Numbers keep their digits: they are never a JavaScript number. */
function literal(p: Parameter): string {
  const text = p.text.trim()
  if (p.text === '' && ['text', 'number', 'json'].includes(p.type))
    throw new ApiError(0, 'invalid_parameter', `fill in $${p.name}`, 'or choose “empty text” or NULL as its type')
  switch (p.type) {
    case 'null':
      return 'null'
    case 'empty':
      return '""'
    case 'text':
      return JSON.stringify(p.text)
    case 'boolean':
      return text === 'true' ? 'true' : 'false'
    case 'number': {
      if (!number.test(text)) throw wrong(p, `"${text}" is not a number`, 'write it as 12, -0.5 or 1e6, or choose text')
      return text
        .replace(/^\+/, '')
        .replace(/^(-?)0*(?=\d)/, '$1')
        .replace(/^(-?)\./, '$10.')
        .replace(/\.(?!\d)/, '')
    }
    case 'json':
      try {
        JSON.parse(text)
      } catch (cause) {
        throw wrong(
          p,
          `not valid JSON: ${(cause as Error).message}`,
          'write a list as [1, 2] and an object as {"a": 1}',
        )
      }
      return text
  }
}

const wrong = (p: Parameter, message: string, hint: string) =>
  new ApiError(0, 'invalid_parameter', `parameter ${p.name}: ${message}`, hint)

// A line of its own, so that columns of errors are those of the statement.
const prefixes = { rows: '', explain: 'EXPLAIN (FORMAT json)\n', analyze: 'EXPLAIN (ANALYZE, FORMAT json)\n' }

/** placed is an error with its place in the editor instead of that in the statement. */
function placed(error: Error, job: Job): Error {
  if (!(error instanceof ApiError) || error.line === 0) return error
  const line = error.line - (job.mode === 'rows' ? 0 : 1)
  return new ApiError(
    error.status,
    error.code,
    error.message,
    error.hint,
    job.line + line - 1,
    line === 1 ? job.column + error.column - 1 : error.column,
    error.problems,
    error.body,
  )
}

/** bodyOf is the body of the request: the statement alone, or JSON with its parameters. */
export function bodyOf(job: Pick<Job, 'sql' | 'mode' | 'parameters'>): { text: string; json: boolean } {
  if (job.mode !== 'rows' && isExplain(job.sql))
    throw new ApiError(0, 'invalid', 'The statement is an EXPLAIN itself.', 'run it, or take the word EXPLAIN away')
  const sql = prefixes[job.mode] + job.sql
  if (job.parameters.length === 0) return { text: sql, json: false }
  const positions = job.parameters.every(p => /^\d+$/.test(p.name))
  if (!positions) {
    const members = job.parameters.map(p => `${JSON.stringify(p.name)}: ${literal(p)}`)
    return { text: `{"sql": ${JSON.stringify(sql)}, "parameters": {${members.join(', ')}}}`, json: true }
  }
  const values: string[] = []
  const last = job.parameters.find(p => Number(p.name) < 1 || Number(p.name) > mostPosition)
  if (last) throw wrong(last, 'no such position', `positions are 1 to ${mostPosition}`)
  for (const p of job.parameters) values[Number(p.name) - 1] = literal(p)
  const list = Array.from(values, v => v ?? 'null')
  return { text: `{"sql": ${JSON.stringify(sql)}, "parameters": [${list.join(', ')}]}`, json: true }
}

/** request is the call of the API. The first type of accept is that of the rows, JSON that of errors. */
export function request(job: Pick<Job, 'sql' | 'mode' | 'parameters'>, accept: string) {
  const { text, json } = bodyOf(job)
  return {
    method: 'POST',
    body: text,
    headers: { Accept: `${accept}, application/json`, 'Content-Type': json ? 'application/json' : 'text/plain' },
  }
}

/**
 * refusalOfRepeat is why a statement is not run a second time for a file; empty if it only reads. The
 * runtime tells: it explains statements that read, and lists the functions in them that are not SQL, which
 * can do anything.
 */
export async function refusalOfRepeat(job: Job): Promise<string> {
  try {
    const answer = await fetchApi('/v1/sql', request({ ...job, mode: 'explain' }, 'application/json'))
    const plan = (await answer.json()) as { explain_key: string; explain_value: string }[]
    const calls = plan.find(r => r.explain_key === 'function_calls')
    return calls ? `it calls ${shown(JSON.parse(calls.explain_value)[0].function, 60)}, which is not SQL` : ''
  } catch (error) {
    if (error instanceof ApiError && [400, 403].includes(error.status)) return shown(error.message, 200)
    throw error
  }
}
