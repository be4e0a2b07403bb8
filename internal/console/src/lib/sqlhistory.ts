// The statements that were run. They may hold secrets, so they stay in this tab, until it is closed.
import { signal } from '@preact/signals'
import { key } from './api.ts'

export interface Entry {
  sql: string
  at: number
  took: number
  rows: number | null
  state: string
}

const name = 'spiced.sql.history'
const [mostEntries, mostText] = [200, 500_000] // statements, and characters of all of them

function read(): Entry[] {
  try {
    const list = JSON.parse(sessionStorage.getItem(name) ?? '[]')
    return Array.isArray(list) ? list.filter(e => typeof e?.sql === 'string') : []
  } catch {
    return []
  }
}

export const history = signal<Entry[]>(read())

/** remember puts a statement first; an equal one before it is dropped. */
export function remember(entry: Entry) {
  const list = [entry, ...history.peek().filter(e => e.sql !== entry.sql)].slice(0, mostEntries)
  let text = 0
  history.value = list.filter(e => (text += e.sql.length) <= mostText)
  try {
    sessionStorage.setItem(name, JSON.stringify(history.value))
  } catch {
    // The storage is full or off: the history is as long as the page is open.
  }
}

export function forget() {
  history.value = []
  sessionStorage.removeItem(name)
}

// Another key may be another person's: the statements of one are not shown to the other.
let last = key.peek()
key.subscribe(now => {
  if (last !== '' && now !== last) forget()
  last = now
})
