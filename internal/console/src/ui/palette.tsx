// The palette: a name, and the page, tool, function or dataset that has it. Ctrl+K opens it.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { rows } from '../lib/api.ts'
import { go, href } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Modal } from './parts.tsx'

interface Target {
  kind: string
  name: string
  to: string
}

const most = 12 // targets that are shown

export function Palette({ pages }: { pages: { path: string; title: string }[] }) {
  const [open, setOpen] = useState(false)
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key.toLowerCase() === 'k' && (e.ctrlKey || e.metaKey)) {
        e.preventDefault()
        setOpen(true)
        return
      }
      const field = e.composedPath()[0] as HTMLElement
      const typing = field.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(field.tagName)
      if (e.key === '/' && !typing && !e.ctrlKey && !e.metaKey) {
        const filter = document.querySelector<HTMLElement>('main input[type=search]')
        if (filter) {
          e.preventDefault()
          filter.focus()
        }
      }
    }
    const onOpen = () => setOpen(true)
    addEventListener('keydown', onKey)
    addEventListener('spiced:palette', onOpen)
    return () => {
      removeEventListener('keydown', onKey)
      removeEventListener('spiced:palette', onOpen)
    }
  }, [])
  return open ? <Choice pages={pages} close={() => setOpen(false)} /> : null
}

function Choice({ pages, close }: { pages: { path: string; title: string }[]; close: () => void }) {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const [named, setNamed] = useState<Target[]>([])
  useEffect(() => {
    const stop = new AbortController()
    const sql = `SELECT 'tool' AS kind, name FROM spiced.tools
      UNION ALL SELECT 'function', name FROM spiced.functions
      UNION ALL SELECT kind, name FROM spiced.datasets LIMIT 50000`
    rows<{ kind: string; name: string }>(sql, [], stop.signal).then(
      list =>
        setNamed(
          list.map(x => ({
            ...x,
            to: href([x.kind === 'tool' ? 'tools' : x.kind === 'function' ? 'functions' : 'data', x.name]),
          })),
        ),
      () => {},
    )
    return () => stop.abort()
  }, [])
  const all = useMemo(
    () => [...pages.map(p => ({ kind: 'page', name: p.title, to: href(p.path ? [p.path] : []) })), ...named],
    [named],
  )
  const found = useMemo(() => {
    const w = words.toLowerCase()
    const hits: Target[] = []
    for (const t of all) if (t.name.toLowerCase().startsWith(w)) hits.push(t)
    for (const t of all) if (hits.length < most && !hits.includes(t) && t.name.toLowerCase().includes(w)) hits.push(t)
    return hits.slice(0, most)
  }, [all, words])
  const open = (t: Target | undefined) => {
    if (!t) return
    close()
    go(t.to)
  }
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.key === 'ArrowDown' || e.key === 'ArrowUp') {
      e.preventDefault()
      setAt((at + (e.key === 'ArrowDown' ? 1 : -1) + found.length) % Math.max(1, found.length))
    } else if (e.key === 'Enter') {
      e.preventDefault()
      open(found[at])
    }
  }
  return (
    <Modal title="Go to" close={close}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length ? `palette-${at}` : undefined}
        aria-label="Name of a page, tool, function or dataset"
        autofocus
        value={words}
        onInput={e => (setWords(e.currentTarget.value), setAt(0))}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-list" role="listbox" class="palette" aria-label="Targets">
        {found.map((t, i) => (
          <li key={t.kind + t.name} id={`palette-${i}`} role="option" aria-selected={i === at} onClick={() => open(t)}>
            <span class="foreign">{shown(t.name, 80)}</span> <span class="soft small">{t.kind}</span>
          </li>
        ))}
        {found.length === 0 && <li class="empty">Nothing has this name.</li>}
      </ul>
    </Modal>
  )
}
