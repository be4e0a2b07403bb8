// The rows of a result in a grid that makes only the cells that can be seen: a million rows, thousands
// of columns. It takes a result by its props, and knows nothing of where the result comes from.
//
// Keyboard: the grid is one stop of the Tab key. Arrows, Page, Home and End move the cell; with Shift
// they extend the selection, with Ctrl they go to the edge. Enter shows a value whole, or sorts by the
// column when the cell is a header; Alt+arrows make a column narrower or wider.
import type { ComponentChildren } from 'preact'
import { memo } from 'preact/compat'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { ResultColumn, ResultData } from '../lib/result.ts'
import type { Sort } from '../lib/result-sort.ts'
import { count } from '../lib/format.ts'
import { shown } from '../lib/text.ts'
import './result-grid.css'

/** Rows and columns of a selection, both ends included. Row -1 is the header. */
export interface Range {
  top: number
  left: number
  bottom: number
  right: number
}

interface Cell {
  row: number
  column: number
}

interface Props {
  result: ResultData
  /** The rows that are shown, in their order, if not all in that of the result. */
  order?: Uint32Array | undefined
  sort?: Sort | undefined
  onSort: (column: number) => void
  onSelect?: (range: Range) => void
  /** Enter or a double click on a value. */
  onOpen?: (row: number, column: number) => void
  /** Ctrl+C. */
  onCopy?: (range: Range) => void
  label?: string
}

const origin: Cell = { row: 0, column: 0 }
const rangeOf = (a: Cell, b: Cell): Range => ({
  top: Math.min(a.row, b.row),
  bottom: Math.max(a.row, b.row),
  left: Math.min(a.column, b.column),
  right: Math.max(a.column, b.column),
})

const rowHeight = 26
const [least, most, widest] = [56, 1200, 420] // px of a column: at least, at most, and of one not yet resized
const cellText = 300 // characters that are shown in a cell
const more = 6 // rows above and below the visible ones
// Browsers limit the height of an element: Firefox to 17.9 million px, Chromium to 33.5 million.
const maxHeight = 8_000_000

export function ResultGrid(props: Props) {
  const { result, order, sort, onSort, onSelect, onOpen, onCopy, label = 'Result' } = props
  const { columns } = result
  const rows = order?.length ?? result.rows
  const box = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState({ width: 900, height: 400 })
  const [resized, setResized] = useState<ReadonlyMap<number, number>>(new Map())
  // The selection is from anchor to cell. Keys can come faster than the grid is drawn, so what counts is
  // in place, and state only draws it.
  const place = useRef({ cell: origin, anchor: origin })
  const [{ cell, anchor }, setPlace] = useState(place.current)
  const select = (to: Cell, from = place.current.anchor) => {
    place.current = { cell: to, anchor: from }
    setPlace(place.current)
  }
  const scroll = useScroll(box, rows * rowHeight, size.height - rowHeight)

  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      const b = box.current!
      setSize({ width: b.clientWidth, height: b.clientHeight })
    })
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])

  // Widths come from the names and the first rows, once these are there.
  const natural = useMemo(() => columns.map((c, i) => naturalWidth(result, c, i)), [columns, rows > 0])
  const gutter = Math.max(44, String(rows).length * 8 + 20)
  const lefts = useMemo(() => {
    const at = new Float64Array(columns.length + 1)
    at[0] = gutter
    for (let i = 0; i < columns.length; i++) at[i + 1] = at[i]! + (resized.get(i) ?? natural[i]!)
    return at
  }, [columns, natural, resized, gutter])
  const width = (i: number) => lefts[i + 1]! - lefts[i]!
  const resize = (column: number, to: number) =>
    setResized(new Map(resized).set(column, Math.round(Math.min(most, Math.max(least, to)))))

  const [firstColumn, lastColumn] = visibleColumns(lefts, scroll.left, size.width)
  const first = Math.max(0, Math.floor(scroll.top / rowHeight) - more)
  const last = Math.min(rows, Math.ceil((scroll.top + size.height) / rowHeight) + more)

  const range = useMemo(() => rangeOf(cell, anchor), [cell, anchor])
  useEffect(() => onSelect?.(range), [range])
  useEffect(() => select(origin, origin), [result])

  const move = (row: number, column: number, extend: boolean) => {
    const to = {
      row: Math.min(rows - 1, Math.max(-1, row)),
      column: Math.min(columns.length - 1, Math.max(0, column)),
    }
    select(to, extend ? place.current.anchor : to)
    scroll.show(to.row * rowHeight, rowHeight)
    const b = box.current!
    if (lefts[to.column]! - gutter < b.scrollLeft) b.scrollLeft = lefts[to.column]! - gutter
    else if (lefts[to.column + 1]! > b.scrollLeft + b.clientWidth)
      b.scrollLeft = Math.min(lefts[to.column]! - gutter, lefts[to.column + 1]! - b.clientWidth)
  }
  const page = Math.max(1, Math.floor(size.height / rowHeight) - 2)

  const onKeyDown = (e: KeyboardEvent) => {
    const command = e.ctrlKey || e.metaKey
    const { row, column } = place.current.cell
    if (e.altKey && (e.key === 'ArrowLeft' || e.key === 'ArrowRight')) {
      e.preventDefault()
      resize(column, width(column) + (e.key === 'ArrowRight' ? 24 : -24))
      return
    }
    if (command && e.key.toLowerCase() === 'c' && onCopy) {
      e.preventDefault()
      onCopy(rangeOf(place.current.cell, place.current.anchor))
      return
    }
    if (command && e.key.toLowerCase() === 'a') {
      e.preventDefault()
      select({ row: Math.max(0, rows - 1), column: columns.length - 1 }, origin)
      return
    }
    if (e.key === 'Enter') {
      e.preventDefault()
      if (row < 0) onSort(column)
      else onOpen?.(row, column)
      return
    }
    const steps: Record<string, [number, number]> = {
      ArrowDown: [command ? rows - 1 : row + 1, column],
      ArrowUp: [command ? 0 : row - 1, column],
      ArrowRight: [row, command ? columns.length - 1 : column + 1],
      ArrowLeft: [row, command ? 0 : column - 1],
      PageDown: [row + page, column],
      PageUp: [Math.max(0, row - page), column],
      Home: [command ? 0 : row, 0],
      End: [command ? rows - 1 : row, columns.length - 1],
    }
    const to = steps[e.key]
    if (!to) return
    e.preventDefault()
    move(to[0], to[1], e.shiftKey)
  }

  /** The cell below the pointer, from its place: cells have no handlers of their own. */
  const under = (e: MouseEvent): Cell | null => {
    const b = box.current!
    const rect = b.getBoundingClientRect()
    const x = e.clientX - rect.left + b.scrollLeft
    const y = e.clientY - rect.top - rowHeight
    if (e.clientX - rect.left >= b.clientWidth || e.clientY - rect.top >= b.clientHeight) return null
    const column = e.clientX - rect.left < gutter ? -1 : columnAt(lefts, x)
    const row = y < 0 ? -1 : Math.floor((scroll.top + y) / rowHeight)
    return row < rows && column < columns.length ? { row, column } : null
  }
  const onPointerDown = (e: PointerEvent) => {
    if (e.button !== 0 || e.pointerType === 'touch') return
    const at = under(e)
    if (!at || at.row < 0) return
    const end = at.column < 0 ? { row: at.row, column: columns.length - 1 } : at
    const begin = at.column < 0 ? { row: at.row, column: 0 } : at
    select(end, e.shiftKey ? place.current.anchor : begin)
    const drag = (m: PointerEvent) => {
      const to = under(m)
      if (to && to.row >= 0) select(to.column < 0 ? { row: to.row, column: columns.length - 1 } : to)
    }
    const b = box.current!
    b.setPointerCapture(e.pointerId)
    b.addEventListener('pointermove', drag)
    b.addEventListener('pointerup', () => b.removeEventListener('pointermove', drag), { once: true })
  }
  const onClick = (e: MouseEvent) => {
    const at = under(e)
    if (!at || at.column < 0) return
    if (at.row < 0) onSort(at.column)
    else if ((e as PointerEvent).pointerType === 'touch') select(at, at)
  }
  const onDblClick = (e: MouseEvent) => {
    const at = under(e)
    if (at && at.row >= 0 && at.column >= 0) onOpen?.(at.row, at.column)
  }

  const total = lefts[columns.length]!
  const shownColumns: number[] = []
  for (let c = firstColumn; c < lastColumn; c++) shownColumns.push(c)
  // Rows are placed from one that seldom changes, and scrolled together: while that stays, a row that
  // is scrolled is not made again.
  const anchorRow = first - (first % 512)
  const lines: ComponentChildren[] = []
  for (let row = first; row < last; row++)
    lines.push(
      <Row
        key={row}
        result={result}
        row={row}
        source={order ? order[row]! : row}
        y={(row - anchorRow) * rowHeight}
        lefts={lefts}
        from={firstColumn}
        to={lastColumn}
        gutter={gutter}
        left={row >= range.top && row <= range.bottom ? range.left : -1}
        right={row >= range.top && row <= range.bottom ? range.right : -2}
        active={cell.row === row ? cell.column : -1}
      />,
    )

  return (
    <div
      ref={box}
      class="result-grid"
      style={{ '--rows-height': `${Math.min(rows, 100) * rowHeight}px` }}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows + 1}
      aria-colcount={columns.length}
      aria-multiselectable="true"
      aria-activedescendant={columns.length ? `cell-${cell.row}-${cell.column}` : undefined}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onClick={onClick}
      onDblClick={onDblClick}
      onScroll={scroll.onScroll}
      onScrollEnd={scroll.onScrollEnd}
    >
      <div class="head" role="row" aria-rowindex={1} style={{ width: `${total}px` }}>
        <span class="gutter" aria-hidden="true" style={{ width: `${gutter}px` }} />
        {shownColumns.map(c => (
          <Header
            key={c}
            column={columns[c]!}
            at={c}
            left={lefts[c]!}
            width={width(c)}
            active={cell.row === -1 && cell.column === c}
            sorted={sort?.column === c ? (sort.down ? 'descending' : 'ascending') : undefined}
            resize={to => resize(c, to)}
            fit={() => resize(c, naturalWidth(result, columns[c]!, c, most))}
          />
        ))}
      </div>
      <div class="body" role="none" style={{ height: `${scroll.height}px`, width: `${total}px` }}>
        <div role="rowgroup" style={{ transform: `translateY(${anchorRow * rowHeight - scroll.shift}px)` }}>
          {lines}
        </div>
      </div>
    </div>
  )
}

interface RowProps {
  result: ResultData
  row: number
  source: number
  y: number
  lefts: Float64Array
  from: number
  to: number
  gutter: number
  left: number
  right: number
  active: number
}

const Row = memo(function Row(p: RowProps) {
  const cells: ComponentChildren[] = []
  for (let c = p.from; c < p.to; c++) {
    const text = p.result.text(p.source, c)
    const kind = p.result.columns[c]!.kind
    const names = ['cell']
    if (kind === 'number') names.push('number')
    if (text === null) names.push('null')
    if (c >= p.left && c <= p.right) names.push('selected')
    if (c === p.active) names.push('active')
    cells.push(
      <span
        key={c}
        id={`cell-${p.row}-${c}`}
        role="gridcell"
        aria-colindex={c + 1}
        aria-selected={c >= p.left && c <= p.right}
        class={names.join(' ')}
        dir={kind === 'text' ? 'auto' : undefined}
        style={{ left: `${p.lefts[c]}px`, width: `${p.lefts[c + 1]! - p.lefts[c]!}px` }}
      >
        {text === null ? 'NULL' : text === '' ? '' : shown(text, cellText)}
      </span>,
    )
  }
  return (
    <div class="line" role="row" aria-rowindex={p.row + 2} style={{ transform: `translateY(${p.y}px)` }}>
      <span class="gutter" role="rowheader" style={{ width: `${p.gutter}px` }}>
        {count(p.row + 1)}
      </span>
      {cells}
    </div>
  )
})

interface HeaderProps {
  column: ResultColumn
  at: number
  left: number
  width: number
  active: boolean
  sorted: 'ascending' | 'descending' | undefined
  resize: (to: number) => void
  fit: () => void
}

function Header({ column, at, left, width, active, sorted, resize, fit }: HeaderProps) {
  const onPointerDown = (e: PointerEvent) => {
    e.stopPropagation()
    const handle = e.currentTarget as HTMLElement
    const begin = e.clientX
    handle.setPointerCapture(e.pointerId)
    const drag = (m: PointerEvent) => resize(width + m.clientX - begin)
    handle.addEventListener('pointermove', drag)
    handle.addEventListener('pointerup', () => handle.removeEventListener('pointermove', drag), { once: true })
  }
  return (
    <span
      id={`cell--1-${at}`}
      role="columnheader"
      aria-colindex={at + 1}
      aria-sort={sorted ?? 'none'}
      class={`cell ${column.kind === 'number' ? 'number' : ''} ${active ? 'active' : ''}`}
      style={{ left: `${left}px`, width: `${width}px` }}
      title={`${shown(column.name, 200)}, ${shown(column.type, 500)}`}
    >
      <b>{shown(column.name, 100) || <i>(no name)</i>}</b> <small>{shown(column.type, 60)}</small>
      {sorted && <span aria-hidden="true">{sorted === 'descending' ? ' ↓' : ' ↑'}</span>}
      <span
        class="handle"
        aria-hidden="true"
        onPointerDown={onPointerDown}
        onClick={e => e.stopPropagation()}
        onDblClick={e => (e.stopPropagation(), fit())}
      />
    </span>
  )
}

/**
 * useScroll maps the scroll position of a box to a place in rows that may be higher than a box can be.
 * Small steps (wheel, touch) move by as many pixels as the user asks for; a long step (the scroll bar)
 * goes to the same share of the rows. After small steps the two positions differ, so the box is put
 * right when scrolling ends, which is not seen: rows are placed relative to where the box is.
 */
function useScroll(box: { current: HTMLDivElement | null }, full: number, height: number) {
  const own = useRef({ box: 0, top: 0 })
  const [at, set] = useState({ top: 0, left: 0, box: 0 })
  const scrolled = Math.min(full, maxHeight)
  const [range, boxRange] = [Math.max(0, full - height), Math.max(0, scrolled - height)]
  const ratio = boxRange > 0 ? range / boxRange : 1
  const mapped = full > maxHeight

  const place = (top: number) => {
    const b = box.current!
    top = Math.min(range, Math.max(0, top))
    b.scrollTop = top / ratio
    own.current = { box: b.scrollTop, top }
    set({ top, left: b.scrollLeft, box: b.scrollTop })
  }
  const onScroll = () => {
    const b = box.current!
    const [now, o] = [b.scrollTop, own.current]
    if (!mapped) o.top = now
    else if (now <= 0) o.top = 0
    else if (now >= boxRange - 1) o.top = range
    else if (now !== o.box) {
      const step = now - o.box
      o.top = Math.abs(step) < 3 * height ? Math.min(range, Math.max(0, o.top + step)) : now * ratio
    }
    o.box = now
    set({ top: o.top, left: b.scrollLeft, box: now })
  }
  const onScrollEnd = () => {
    if (mapped && Math.abs(own.current.top / ratio - own.current.box) > 1) place(own.current.top)
  }
  /** Scrolls as little as it takes to show a line. */
  const show = (y: number, line: number) => {
    const top = own.current.top
    if (y < top) place(y)
    else if (y + line > top + height) place(y + line - height)
  }
  return { top: at.top, left: at.left, shift: at.top - at.box, height: scrolled, onScroll, onScrollEnd, show }
}

/** columnAt is the column at a place: the last one that begins at or before it. */
function columnAt(lefts: Float64Array, x: number): number {
  let [low, high] = [0, lefts.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (lefts[middle]! <= x) low = middle
    else high = middle - 1
  }
  return low
}

function visibleColumns(lefts: Float64Array, left: number, width: number): [from: number, to: number] {
  const n = lefts.length - 1
  return [Math.max(0, columnAt(lefts, left)), Math.min(n, columnAt(lefts, left + width) + 1)]
}

function naturalWidth(result: ResultData, column: ResultColumn, at: number, limit = widest): number {
  let characters = column.name.length + Math.min(20, column.type.length) + 3
  // Of a result with thousands of columns, fewer rows are looked at.
  const sample = Math.max(5, Math.min(100, 50_000 / result.columns.length))
  for (let row = 0; row < Math.min(sample, result.rows); row++)
    characters = Math.max(characters, Math.min(200, result.text(row, at)?.length ?? 4))
  return Math.min(limit, Math.max(least, characters * 7.6 + 20))
}
