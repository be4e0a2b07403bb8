// The console: the frame around the pages, and the choice of the page by the address.
import { render, type ComponentType } from 'preact'
import { Suspense, lazy } from 'preact/compat'
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks'
import { caller, key, keyWanted, useKey } from './lib/api.ts'
import { connection, follow } from './lib/events.ts'
import { followLinks, href, segments } from './lib/route.ts'
import { nextTheme, theme } from './lib/theme.ts'
import { Palette } from './ui/palette.tsx'
import { Failure } from './ui/parts.tsx'
import icon from './icon.svg'

interface Page {
  path: string
  title: string
  view: ComponentType
}

// Every page, in the order of the navigation.
const pages: Page[] = [
  { path: '', title: 'Overview', view: lazy(() => import('./pages/overview.tsx')) },
  { path: 'tools', title: 'Tools', view: lazy(() => import('./pages/tools.tsx')) },
  { path: 'search', title: 'Search', view: lazy(() => import('./pages/search.tsx')) },
  { path: 'functions', title: 'Functions', view: lazy(() => import('./pages/functions.tsx')) },
  { path: 'sql', title: 'SQL', view: lazy(() => import('./pages/sql.tsx')) },
  { path: 'chat', title: 'Chat', view: lazy(() => import('./pages/chat.tsx')) },
  { path: 'approvals', title: 'Approvals', view: lazy(() => import('./pages/approvals.tsx')) },
  { path: 'data', title: 'Data', view: lazy(() => import('./pages/data.tsx')) },
  { path: 'usage', title: 'Usage', view: lazy(() => import('./pages/usage.tsx')) },
  { path: 'spicepod', title: 'Spicepod', view: lazy(() => import('./pages/spicepod.tsx')) },
]

function Console() {
  const path = segments.value[0] ?? ''
  const page = pages.find(p => p.path === path)
  const main = useRef<HTMLElement>(null)
  const before = useRef(path)
  useEffect(() => {
    document.title = page ? `${page.title} · spiced` : 'spiced'
    if (before.current !== path) main.current?.focus()
    before.current = path
  }, [path])
  return (
    <div class="frame">
      <Sidebar path={path} />
      <main ref={main} tabIndex={-1}>
        {connection.value === 'lost' && (
          <div class="note warn banner" role="status">
            The connection to the runtime is lost. It is opened again as soon as the runtime answers; what is shown may
            be old.
          </div>
        )}
        {keyWanted.value ? (
          <KeyForm />
        ) : page ? (
          <Suspense fallback={<p class="soft">Loading…</p>}>
            <Shown key={path} view={page.view} />
          </Suspense>
        ) : (
          <p>
            There is no page “{path}”. <a href={href([])}>Overview</a>
          </p>
        )}
      </main>
      <Palette pages={pages} />
    </div>
  )
}

/** Shown shows a page; a fault of the console in it is shown instead of nothing. */
function Shown({ view: View }: { view: ComponentType }) {
  const [fault, again] = useErrorBoundary(e => console.error(e))
  return fault ? <Failure error={fault} again={again} /> : <View />
}

function Sidebar({ path }: { path: string }) {
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [path])
  const who = caller.value
  return (
    <header class={`sidebar ${open ? 'open' : ''}`}>
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
          <span class={`dot ${connection.value === 'open' ? 'good' : connection.value === 'lost' ? 'bad' : ''}`} />
          <span>
            {connection.value === 'open' ? 'Live' : connection.value === 'lost' ? 'Connection lost' : 'Connecting'}
          </span>
          {who && <span class="soft">generation {who.generation}</span>}
        </div>
        {key.value && (
          <button type="button" class="plain" onClick={() => useKey('')}>
            Forget the key{who?.principal ? ` of ${who.principal}` : ''}
          </button>
        )}
        {who?.version && <span class="soft">{who.version}</span>}
      </div>
    </header>
  )
}

function KeyForm() {
  const [value, setValue] = useState('')
  const submit = (e: Event) => {
    e.preventDefault()
    useKey(value.trim())
  }
  return (
    <section class="panel" aria-labelledby="key-title">
      <h1 id="key-title">A key is needed</h1>
      <p role="alert">{keyWanted.value}</p>
      <form class="row" onSubmit={submit}>
        <label class="field grow">
          Key
          <input
            type="password"
            autocomplete="off"
            value={value}
            onInput={e => setValue(e.currentTarget.value)}
            required
          />
        </label>
        <button class="primary">Use this key</button>
      </form>
      <p class="soft small">
        The key is one of <code>runtime.auth.api-key</code>. It is kept for this tab until it is closed, and sent as a
        header only.
      </p>
    </section>
  )
}

followLinks()
follow()
render(<Console />, document.getElementById('console')!)
