// The address is the state of a page: each page can be linked, and going back works. Paths are below
// /ui/; what a page shows is in the query.
import { computed, signal } from '@preact/signals'

const base = '/ui/'
const here = signal(location.pathname + location.search)

addEventListener('popstate', () => (here.value = location.pathname + location.search))

/** The path below /ui/, in decoded segments. */
export const segments = computed(() =>
  new URL(here.value, location.origin).pathname
    .slice(base.length)
    .split('/')
    .filter(s => s !== '')
    .map(s => decode(s)),
)

const query = computed(() => new URL(here.value, location.origin).searchParams)

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** href makes the address of a page. Values that are empty are left out. */
export function href(path: string[], params: Record<string, string | undefined> = {}): string {
  const q = new URLSearchParams()
  for (const [name, value] of Object.entries(params)) if (value) q.set(name, value)
  const search = q.toString()
  return base + path.map(encodeURIComponent).join('/') + (search && '?' + search)
}

/** go opens a page. */
export function go(to: string, replace = false) {
  if (to === here.peek()) return
  if (replace) history.replaceState(null, '', to)
  else {
    history.pushState(null, '', to)
    scrollTo(0, 0)
  }
  here.value = to
}

/** param reads a value of the query. */
export const param = (name: string, otherwise = ''): string => query.value.get(name) ?? otherwise

/** setParams changes values of the query; an empty one is removed. The step is not part of the history. */
export function setParams(changes: Record<string, string>) {
  const url = new URL(here.peek(), location.origin)
  for (const [name, value] of Object.entries(changes)) {
    if (value === '') url.searchParams.delete(name)
    else url.searchParams.set(name, value)
  }
  go(url.pathname + url.search, true)
}

/** followLinks opens links to pages of the console without loading it again. */
export function followLinks() {
  document.addEventListener('click', e => {
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return
    const a = (e.composedPath()[0] as Element).closest?.('a')
    if (!a || a.target || a.hasAttribute('download') || a.origin !== location.origin) return
    if (!a.pathname.startsWith(base)) return
    e.preventDefault()
    go(a.pathname + a.search)
  })
}
