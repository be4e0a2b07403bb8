// The console: the frame around the pages, and the choice of the page by the address.
import { render, type ComponentType } from 'preact'
import { Suspense, lazy } from 'preact/compat'
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks'
import { api, ApiError, caller, key, keyWanted, tryKey, useKey } from './lib/api.ts'
import { connection, follow } from './lib/events.ts'
import { keepFocus } from './lib/focus.ts'
import { plural } from './lib/format.ts'
import { useLoad } from './lib/load.ts'
import { useProblems } from './lib/problems.ts'
import { followLinks, href, segments } from './lib/route.ts'
import type { StreamState } from './lib/stream.ts'
import { nextTheme, theme } from './lib/theme.ts'
import { Palette } from './ui/palette.tsx'
import { Failure } from './ui/parts.tsx'
import { shown } from './lib/text.ts'
import icon from './icon.svg'

interface Page {
  path: string
  title: string
  view: ComponentType
  /** Fetches the code of the page, before it is opened. */
  prefetch: () => Promise<unknown>
}

function page(path: string, title: string, load: () => Promise<{ default: ComponentType }>): Page {
  const reached = () =>
    load().catch(() => {
      throw new ApiError(0, 'unreachable', 'The runtime does not answer.', 'This page was not fetched yet.')
    })
  return { path, title, view: lazy(reached), prefetch: load }
}

// Every page, in the order of the navigation.
const pages = [
  page('', 'Overview', () => import('./pages/overview.tsx')),
  page('tools', 'Tools', () => import('./pages/tools.tsx')),
  page('search', 'Search', () => import('./pages/search.tsx')),
  page('functions', 'Functions', () => import('./pages/functions.tsx')),
  page('sql', 'SQL', () => import('./pages/sql.tsx')),
  page('chat', 'Chat', () => import('./pages/chat.tsx')),
  page('approvals', 'Approvals', () => import('./pages/approvals.tsx')),
  page('data', 'Data', () => import('./pages/data.tsx')),
  page('usage', 'Usage', () => import('./pages/usage.tsx')),
  page('spicepod', 'Spicepod', () => import('./pages/spicepod.tsx')),
]

function Console() {
  const path = segments.value[0] ?? ''
  const current = pages.find(p => p.path === path)
  const main = useRef<HTMLElement>(null)
  const before = useRef(path)
  const name = segments.value[1]
  useEffect(() => {
    document.title = current ? `${name ? `${shown(name, 60)} · ` : ''}${current.title} · spiced` : 'spiced'
    if (before.current !== path) main.current?.focus()
    before.current = path
  }, [path, name])
  return (
    <div class="frame">
      <Sidebar path={path} skip={() => main.current?.focus()} />
      <main id="main" ref={main} tabIndex={-1}>
        {connection.value === 'lost' && !keyWanted.value && (
          <div class="note warn banner" role="status">
            The connection to the runtime is lost. It is opened again as soon as the runtime answers; what is shown may
            be old.
          </div>
        )}
        {keyWanted.value ? (
          <KeyForm />
        ) : current && segments.value.length <= 2 ? (
          <Suspense fallback={<p class="soft">Loading…</p>}>
            <Shown key={path} title={current.title} view={current.view} />
          </Suspense>
        ) : (
          <p>
            There is no page “{shown(segments.value.join('/'), 100)}”. <a href={href([])}>Overview</a>
          </p>
        )}
      </main>
      <Palette pages={pages} />
    </div>
  )
}

/**
 * Shown shows a page; a fault in it is shown instead of nothing. Code that was not fetched before the
 * connection was lost may have another name when the runtime is back, so the whole page is loaded then.
 */
function Shown({ title, view: View }: { title: string; view: ComponentType }) {
  const [fault, again] = useErrorBoundary(e => console.error(e))
  const before = useRef(connection.value)
  useEffect(() => {
    if (fault instanceof ApiError && before.current === 'lost' && connection.value === 'open') location.reload()
    before.current = connection.value
  }, [fault, connection.value])
  if (!fault) return <View />
  return (
    <>
      <h1>{title}</h1>
      <Failure error={fault} again={again} />
    </>
  )
}

const states: Record<StreamState, string> = {
  open: 'Live',
  lost: 'Connection lost',
  connecting: 'Connecting',
  denied: 'Needs a key',
}

function Sidebar({ path, skip }: { path: string; skip: () => void }) {
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const who = caller.value
  const errors = useProblems().filter(p => p.severity === 'error').length
  const waiting = useWaiting()
  return (
    <header class={`sidebar ${open ? 'open' : ''}`} onKeyDown={e => e.key === 'Escape' && setOpen(false)}>
      <a
        class="skip"
        href="#main"
        onClick={e => {
          e.preventDefault()
          skip()
        }}
      >
        Skip to the page
      </a>
      <div class="bar">
        <a class="brand" href={href([])}>
          <img src={icon} alt="" />
          spiced
        </a>
        <button type="button" class="menu" aria-expanded={open} onClick={() => setOpen(!open)}>
          Menu
        </button>
      </div>
      <nav aria-label="Pages">
        {pages.map(p => (
          <a key={p.path} href={href(p.path ? [p.path] : [])} aria-current={p.path === path ? 'page' : undefined}>
            {p.title}
            {p.path === 'approvals' && waiting > 0 && <span class="badge warn">{waiting} pending</span>}
          </a>
        ))}
      </nav>
      <div class="foot">
        <button type="button" onClick={() => dispatchEvent(new Event('spiced:palette'))}>
          Go to… <kbd class="soft small">Ctrl K</kbd>
        </button>
        <button type="button" class="plain" onClick={nextTheme}>
          Theme: {theme.value}
        </button>
        <div class="row" role="status">
          <span
            class={`dot ${keyWanted.value ? '' : connection.value === 'open' ? 'good' : connection.value === 'lost' ? 'bad' : ''}`}
          />
          <span>{keyWanted.value ? 'Needs a key' : states[connection.value]}</span>
          {who && <span class="soft">generation {who.generation}</span>}
        </div>
        {errors > 0 && (
          <a href={href([])} class="badge bad">
            {plural(errors, 'error')} in the Spicepod
          </a>
        )}
        {key.value && !keyWanted.value && (
          <button type="button" class="plain" onClick={() => useKey('')}>
            Forget the key{who?.principal ? ` of ${who.principal}` : ''}
          </button>
        )}
        {who?.version && <span class="soft">{who.version}</span>}
      </div>
    </header>
  )
}

/** useWaiting is how many calls wait for the approval of somebody, of those that the key may see. */
function useWaiting(): number {
  const pending = useLoad(signal => api<unknown[]>('/v1/approvals?status=pending', { signal }), [], ['approval'])
  return pending.error ? 0 : (pending.data?.length ?? 0)
}

function KeyForm() {
  const [value, setValue] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const [busy, setBusy] = useState(false)
  const submit = (e: Event) => {
    e.preventDefault()
    setBusy(true)
    tryKey(value.trim())
      .catch((e: Error) => (keyWanted.value = e.message))
      .finally(() => setBusy(false))
  }
  return (
    <section class="panel" aria-labelledby="key-title">
      <h1 id="key-title">A key is needed</h1>
      <p role="alert" class="note bad">
        {keyWanted.value}
      </p>
      <form class="row" onSubmit={submit}>
        <label class="field grow">
          Key
          <input
            ref={field}
            type="password"
            autocomplete="off"
            value={value}
            onInput={e => setValue(e.currentTarget.value)}
            required
          />
        </label>
        <button class="primary" disabled={busy}>
          {busy ? 'Checking…' : 'Use this key'}
        </button>
      </form>
      <p class="soft small">
        The key is one of <code>runtime.auth.api-key</code>. It is kept for this tab until it is closed, and sent as a
        header only.
      </p>
    </section>
  )
}

keepFocus()
followLinks()
follow()
// Pages open at once, and when the runtime is gone, if their code is here already. The first page goes first.
const prefetch = () => pages.forEach(p => p.prefetch().catch(() => {}))
setTimeout(() => requestIdleCallback(prefetch), 2000)
render(<Console />, document.getElementById('console')!)
