// A table that filters and sorts, and makes only the rows that can be seen. Its filter and order are
// part of the address, so that a view can be linked.
import type { ComponentChildren } from 'preact'
import { memo } from 'preact/compat'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { count, plural } from '../lib/format.ts'
import { param, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'

export type Value = string | number | boolean | null | undefined | Date

export interface Column<T> {
  key: string
  title: string
  /** What is sorted, filtered and, without show, displayed. */
  value: (row: T) => Value
  show?: (row: T) => ComponentChildren
  /** Numbers stand on the right and sort from the largest first. */
  number?: boolean
}

interface Props<T> {
  label: string
  columns: Column<T>[]
  rows: T[]
  /** What identifies a row; without it, the value of the first column. */
  id?: (row: T) => string
  /** The name of the table in the address; tables of one page differ in it. */
  name?: string
  sort?: string
  /** What stands next to the filter. */
  tools?: ComponentChildren
  empty?: ComponentChildren
  /** Words that say what the filter looks at, such as "Filter tools". */
  filter?: string | false
}

const rowHeight = 37 // of td, with its border
const more = 4 // rows above and below the visible ones
const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

function compare(a: Value, b: Value): number {
  if (a == null || b == null) return a == null ? (b == null ? 0 : 1) : -1 // NULL is last in both orders
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (a instanceof Date && b instanceof Date) return +a - +b
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  return collator.compare(String(a), String(b))
}

export function Table<T>({ label, columns, rows, id, name = '', sort = '', tools, empty, filter }: Props<T>) {
  const order = param(name + 'sort', sort)
  const words = param(name + 'filter')
  const [by, down] = order.startsWith('-') ? [order.slice(1), true] : [order, false]

  const sorted = useMemo(() => {
    const column = columns.find(c => c.key === by)
    if (!column) return rows
    const values = rows.map((row, at) => ({ value: column.value(row), at }))
    values.sort((x, y) => {
      const c = compare(x.value, y.value)
      return (down && x.value != null && y.value != null ? -c : c) || x.at - y.at
    })
    return values.map(v => rows[v.at]!)
  }, [rows, by, down])
  const textOf = useTexts(columns, rows)
  const found = useMemo(() => {
    const all = words.toLowerCase().split(/\s+/).filter(Boolean)
    return all.length === 0 ? sorted : sorted.filter(row => all.every(w => textOf(row).includes(w)))
  }, [sorted, words])

  const box = useRef<HTMLDivElement>(null)
  const [first, setFirst] = useState(0)
  const [height, setHeight] = useState(900)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => setHeight(box.current?.clientHeight ?? 900))
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (box.current) box.current.scrollTop = 0
    setFirst(0)
  }, [words, order])

  const visibleRows = Math.ceil(height / rowHeight) + 2 * more
  const from = Math.max(0, Math.min(first - more, found.length - visibleRows))
  const to = Math.min(found.length, from + visibleRows)
  const visible = found.slice(from, to)
  const slots = useSlots(visible.map(id ?? (row => String(columns[0]!.value(row)))))
  const head = useRef<HTMLTableRowElement>(null)
  const widths = useWidths(head, found.length > to - from, [columns.length, rows, height])
  const choose = (c: Column<T>) => {
    const begin = c.number ? '-' + c.key : c.key
    const other = c.number ? c.key : '-' + c.key
    setParams({ [name + 'sort']: order === begin ? other : begin })
  }

  return (
    <div class="stack">
      {(filter !== false || tools) && (
        <div class="row">
          {filter !== false && (
            <input
              type="search"
              class="filter"
              value={words}
              placeholder={filter ?? 'Filter'}
              aria-label={filter ?? `Filter ${label}`}
              onInput={e => setParams({ [name + 'filter']: e.currentTarget.value })}
            />
          )}
          <span class="soft small" aria-live="polite">
            {found.length === rows.length
              ? plural(rows.length, 'row')
              : `${count(found.length)} of ${plural(rows.length, 'row')}`}
          </span>
          {tools}
        </div>
      )}
      <div
        class="table"
        ref={box}
        tabIndex={0}
        role="region"
        aria-label={label}
        onScroll={e => setFirst(Math.floor(e.currentTarget.scrollTop / rowHeight))}
      >
        <table aria-label={label} aria-rowcount={found.length + 1} class={widths ? 'fixed' : ''}>
          {widths && (
            <colgroup>
              {widths.map((w, i) => (
                <col key={i} style={{ width: `${w}px` }} />
              ))}
            </colgroup>
          )}
          <thead>
            <tr ref={head}>
              {columns.map(c => (
                <th
                  key={c.key}
                  scope="col"
                  class={c.number ? 'right' : ''}
                  aria-sort={c.key === by ? (down ? 'descending' : 'ascending') : undefined}
                >
                  <button type="button" onClick={() => choose(c)}>
                    {c.title}
                    <span aria-hidden="true">{c.key === by ? (down ? '↓' : '↑') : ''}</span>
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {from > 0 && <Spacer columns={columns.length} height={from * rowHeight} />}
            {visible.map((row, i) => (
              <Row key={slots[i]} row={row} index={from + i + 2} columns={columns} />
            ))}
            {to < found.length && <Spacer columns={columns.length} height={(found.length - to) * rowHeight} />}
          </tbody>
        </table>
        {found.length === 0 && (
          <p class="empty" style={{ padding: '0.7rem' }}>
            {rows.length === 0 ? (empty ?? 'There are none.') : `None has “${shown(words, 60)}”.`}
          </p>
        )}
      </div>
    </div>
  )
}

/**
 * useTexts returns the text of a row that a filter looks at: its columns of text, in lower case. Those of
 * 10,000 rows take longer than a frame, so they are made while the browser is idle, before a filter
 * needs them.
 */
function useTexts<T>(columns: Column<T>[], rows: T[]): (row: T) => string {
  const texts = useMemo(() => new Map<T, string>(), [rows])
  const textOf = (row: T): string => {
    let text = texts.get(row)
    if (text === undefined) {
      text = ''
      for (const c of columns) {
        const value = c.value(row)
        if (typeof value === 'string') text += value.toLowerCase() + '\n'
      }
      texts.set(row, text)
    }
    return text
  }
  useEffect(() => {
    let [at, waits] = [0, 0]
    const work = (deadline: IdleDeadline) => {
      while (at < rows.length && deadline.timeRemaining() > 1)
        for (let i = 0; i < 50 && at < rows.length; i++) textOf(rows[at++]!)
      if (at < rows.length) waits = requestIdleCallback(work)
    }
    waits = requestIdleCallback(work)
    return () => cancelIdleCallback(waits)
  }, [rows])
  return textOf
}

interface RowProps<T> {
  row: T
  index: number
  columns: Column<T>[]
}

/**
 * useSlots returns the slot of each visible row, by its id. A row that stays keeps its slot, and so its place
 * in the document, also when rows arrive above it: a link in it that has the focus stays the same link. The
 * slots of rows that leave are given to those that arrive, which is faster than making new ones.
 */
function useSlots(ids: string[]): number[] {
  const last = useRef(new Map<string, number>())
  const slots = new Map<string, number>()
  const unique = ids.map(id => {
    while (slots.has(id)) id += '\u0000'
    slots.set(id, last.current.get(id) ?? -1)
    return id
  })
  const taken = new Set(slots.values())
  let free = 0
  for (const id of unique) {
    if (slots.get(id) !== -1) continue
    while (taken.has(free)) free++
    slots.set(id, free++)
  }
  last.current = slots
  return unique.map(id => slots.get(id)!)
}

/** Row is drawn again only for another row. */
const Row = memo(function Row<T>({ row, index, columns }: RowProps<T>) {
  return (
    <tr aria-rowindex={index}>
      {columns.map((c, i) => {
        const Cell = i === 0 ? 'th' : 'td'
        return (
          <Cell key={c.key} scope={i === 0 ? 'row' : undefined} class={c.number ? 'right' : ''}>
            {c.show ? c.show(row) : cell(c.value(row))}
          </Cell>
        )
      })}
    </tr>
  )
}) as <T>(props: RowProps<T>) => ComponentChildren

/**
 * useWidths keeps the widths that the columns have with the first rows. Without it, columns would
 * change their widths with the rows that are scrolled to, and the browser would measure every cell.
 */
function useWidths(
  head: { current: HTMLTableRowElement | null },
  scrolls: boolean,
  deps: unknown[],
): number[] | undefined {
  const [widths, setWidths] = useState<number[]>()
  useLayoutEffect(() => setWidths(undefined), deps)
  useLayoutEffect(() => {
    if (!scrolls || widths || !head.current) return
    setWidths([...head.current.children].map(th => (th as HTMLElement).offsetWidth))
  })
  return widths
}

const Spacer = ({ columns, height }: { columns: number; height: number }) => (
  <tr class="spacer" aria-hidden="true">
    <td colSpan={columns} style={{ height: `${height}px` }} />
  </tr>
)

function cell(value: Value): ComponentChildren {
  if (value == null || value === '') return <span class="soft">–</span>
  if (value instanceof Date) return value.toLocaleString('sv')
  if (typeof value === 'number') return count(value)
  return (
    <span
      class="foreign"
      dir="auto"
      title={typeof value === 'string' && value.length > 40 ? shown(value, 1000) : undefined}
    >
      {shown(String(value))}
    </span>
  )
}
