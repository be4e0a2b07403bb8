// The small parts that pages are made of.
import type { ComponentChildren } from 'preact'
import { useEffect, useErrorBoundary, useId, useRef, useState } from 'preact/hooks'
import { ApiError, caller, type Problem } from '../lib/api.ts'
import { writeClipboard } from '../lib/clipboard.ts'
import { href } from '../lib/route.ts'
import * as snippet from '../lib/snippet.ts'
import { shown, truncate, visible } from '../lib/text.ts'
import { LongText } from './foreign.tsx'

export { Foreign, Json, LongText } from './foreign.tsx'

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | ''

export const Badge = ({ tone = '', children }: { tone?: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** A state of the API: Ready, Initializing, Error, … */
export function State({ state }: { state: string | null | undefined }) {
  const tones: Record<string, Tone> = {
    ready: 'good',
    error: 'bad',
    refreshing: 'accent',
    initializing: 'warn',
    loading: 'warn',
    'last good version': 'warn',
  }
  return state ? <Badge tone={tones[state.toLowerCase()] ?? ''}>{state}</Badge> : null
}

interface PanelProps {
  title?: ComponentChildren
  action?: ComponentChildren
  children: ComponentChildren
  label?: string
}

export function Panel({ title, action, children, label }: PanelProps) {
  const id = useId()
  return (
    <section class="panel" aria-labelledby={title ? id : undefined} aria-label={label}>
      {(title || action) && (
        <div class="title">
          <h2 id={id}>{title}</h2>
          {action && <div class="row">{action}</div>}
        </div>
      )}
      {children}
    </section>
  )
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>

export const Figure = ({ value, label }: { value: ComponentChildren; label: string }) => (
  <div class="figure">
    <b>{value}</b>
    <span>{label}</span>
  </div>
)

/** Failure shows an error with its hint and its problems. */
export function Failure({ error, again }: { error: Error | undefined; again?: () => void }) {
  if (!error) return null
  const e = error instanceof ApiError ? error : undefined
  return (
    <div class="note bad" role="alert">
      <strong class="foreign">{visible(error.message)}</strong>
      {e?.hint && <span class="foreign">{visible(e.hint)}</span>}
      {e?.code && (
        <span class="small">
          <code>{e.code}</code>
          {e.status > 0 && `, status ${e.status}`}
          {e.line > 0 && `, line ${e.line}, column ${e.column}`}
        </span>
      )}
      {e?.problems.map((p, i) => (
        <ProblemNote key={i} problem={p} />
      ))}
      {again && (
        <div>
          <button type="button" onClick={again}>
            Try again
          </button>
        </div>
      )}
    </div>
  )
}

/** Place is a link to a line of a file of the Spicepod. */
export function Place({ file, line, column }: { file: string; line: number | null; column?: number }) {
  const at = [line, line && column].filter(Boolean).join(':')
  const text = <code>{shown([file, at].filter(Boolean).join(':'), 120)}</code>
  if (caller.value?.may_write === false) return <span class="small foreign">{text}</span> // it may not read files
  return (
    <a class="small foreign" href={href(['spicepod'], { file, at })}>
      {text}
    </a>
  )
}

/** ProblemNote shows a fault of the Spicepod with the line that it is in, and a mark below its place. */
export function ProblemNote({ problem: p }: { problem: Problem }) {
  return (
    <div class={`note ${p.severity === 'error' ? 'bad' : 'warn'}`}>
      <div class="row">
        <Badge tone={p.severity === 'error' ? 'bad' : 'warn'}>{p.severity}</Badge>
        {p.component && <strong class="foreign">{shown(p.component)}</strong>}
        <Place {...p} />
        {p.path && <code class="small soft foreign">{shown(p.path)}</code>}
      </div>
      <span class="foreign">{visible(p.message)}</span>
      {p.source && (
        <pre class="excerpt" tabIndex={0}>
          <span class="soft">{String(p.line).padStart(4)} │ </span>
          {visible(truncate(p.source, 400)).replaceAll('\t', ' ').trimEnd()}
          {p.column > 0 && p.column < 400 && (
            <>
              {'\n     │ ' + ' '.repeat(p.column - 1)}
              <span class="caret">^</span>
            </>
          )}
        </pre>
      )}
      {p.hint && <span class="foreign">{visible(p.hint)}</span>}
      {p.waits_for && <span class="soft foreign">It waits for {shown(p.waits_for)}.</span>}
    </div>
  )
}

/** Outdated shows the error that keeps a component at its last good version. */
export function Outdated({ problem }: { problem: Problem | undefined }) {
  if (!problem) return null
  return (
    <>
      <p class="note warn">The last good version is served: the file has an error.</p>
      <ProblemNote problem={problem} />
    </>
  )
}

/** Twice is a button whose act cannot be undone: it is pressed twice. */
export function Twice({ label, ...rest }: { label: string; disabled: boolean; class?: string; act: () => void }) {
  const { act, ...button } = rest
  const [asked, setAsked] = useState(false)
  useEffect(() => {
    if (!asked) return
    const timer = setTimeout(() => setAsked(false), 4000)
    return () => clearTimeout(timer)
  }, [asked])
  return (
    <button type="button" {...button} onClick={() => (asked ? (setAsked(false), act()) : setAsked(true))}>
      <span aria-live="polite">{asked ? `${label}: press again` : label}</span>
    </button>
  )
}

/** Copy copies a text. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState('')
  useEffect(() => {
    if (!done) return
    const timer = setTimeout(() => setDone(''), 1500)
    return () => clearTimeout(timer)
  }, [done])
  const copy = () =>
    writeClipboard(text).then(
      () => setDone('Copied'),
      () => setDone('Not copied'),
    )
  return (
    <button type="button" onClick={copy}>
      <span aria-live="polite">{done || label}</span>
    </button>
  )
}

interface TabsProps {
  label: string
  tabs: { id: string; title: ComponentChildren; body: () => ComponentChildren }[]
  current: string
  choose: (id: string) => void
}

/** Tabs follows the pattern of the ARIA Authoring Practices: arrow keys move between tabs. */
export function Tabs({ label, tabs, current, choose }: TabsProps) {
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const at = Math.max(
    0,
    tabs.findIndex(t => t.id === current),
  )
  const onKeyDown = (e: KeyboardEvent) => {
    const last = tabs.length - 1
    const to = { ArrowRight: at < last ? at + 1 : 0, ArrowLeft: at > 0 ? at - 1 : last, Home: 0, End: last }[e.key]
    if (to === undefined) return
    e.preventDefault()
    choose(tabs[to]!.id)
    list.current?.querySelectorAll<HTMLElement>('[role=tab]')[to]?.focus()
  }
  return (
    <div class="stack">
      <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={onKeyDown}>
        {tabs.map((t, i) => (
          <button
            key={t.id}
            type="button"
            role="tab"
            id={`${id}-${t.id}`}
            aria-selected={i === at}
            aria-controls={`${id}-panel`}
            tabIndex={i === at ? 0 : -1}
            onClick={() => choose(t.id)}
          >
            {t.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tabs[at]?.id}`} class="stack">
        {tabs[at] && <TabBody key={tabs[at].id} body={tabs[at].body} />}
      </div>
    </div>
  )
}

/** TabBody shows a tab; a fault in it leaves the rest of the page. */
function TabBody({ body }: { body: () => ComponentChildren }) {
  const [fault, again] = useErrorBoundary(e => console.error(e))
  return fault ? <Failure error={fault} again={again} /> : <>{body()}</>
}

/** Modal is a dialog that Escape closes. */
export function Modal({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => ref.current?.showModal(), []) // the browser returns the focus when it is closed
  return (
    <dialog ref={ref} aria-labelledby={id} onClose={close}>
      <div class="stack">
        <div class="head">
          <h2 id={id} class="grow">
            {title}
          </h2>
          <button type="button" onClick={() => ref.current?.close()}>
            Close
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}

export interface Snippet {
  title: string
  text: string
}

/** requestSnippets are the ways to make a request. */
export const requestSnippets = (r: snippet.Request): Snippet[] => [
  { title: 'curl', text: snippet.curl(r) },
  { title: 'Python', text: snippet.python(r) },
  { title: 'JavaScript', text: snippet.javascript(r) },
]

/** Equivalent is the button that shows how to do the same without the console. */
export function Equivalent({ make, label = 'As code' }: { make: () => Snippet[]; label?: string }) {
  const [list, setList] = useState<Snippet[] | null>(null)
  const [current, setCurrent] = useState('')
  return (
    <>
      <button type="button" onClick={() => setList(make())}>
        {label}
      </button>
      {list && (
        <Modal title="The same as code" close={() => setList(null)}>
          <Tabs
            label="Languages"
            current={current || list[0]!.title}
            choose={setCurrent}
            tabs={list.map(s => ({
              id: s.title,
              title: s.title,
              body: () => (
                <>
                  <LongText text={s.text} wrap={false} />
                  <div>
                    <Copy text={s.text} />
                  </div>
                </>
              ),
            }))}
          />
        </Modal>
      )}
    </>
  )
}
