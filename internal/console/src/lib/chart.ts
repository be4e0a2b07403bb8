// What a chart shows of a result: which columns it needs, which it begins with, and its points.
import type { Kind, ResultColumn, ResultData } from './result.ts'
import { count } from './format.ts'
import { shown } from './text.ts'

export const charts = {
  bar: 'Bars',
  line: 'Lines',
  scatter: 'Scatter plot',
  histogram: 'Histogram',
  heat: 'Heat map',
  map: 'Map of points',
}
export type Chart = keyof typeof charts

/** Columns are positions, as names can be equal; -1 means no column. */
export interface Settings {
  chart: Chart
  x: number
  y: number
  color: number
}

interface Role {
  title: string
  kinds: Kind[]
  /** What the choice of no column is called. */
  optional?: string
}

const scale: Kind[] = ['number', 'time']
const any: Kind[] = ['number', 'time', 'text', 'bool']
const series: Role = { title: 'Colour', kinds: ['text', 'bool', 'number'], optional: 'one colour' }

export const roles: Record<Chart, Partial<Record<'x' | 'y' | 'color', Role>>> = {
  bar: { x: { title: 'Bars', kinds: any }, y: { title: 'Length', kinds: ['number'], optional: 'number of rows' } },
  line: { x: { title: 'X', kinds: any }, y: { title: 'Y', kinds: ['number'] }, color: series },
  scatter: { x: { title: 'X', kinds: scale }, y: { title: 'Y', kinds: scale }, color: series },
  histogram: { x: { title: 'Values', kinds: scale } },
  heat: {
    x: { title: 'X', kinds: any },
    y: { title: 'Y', kinds: any },
    color: { title: 'Colour', kinds: ['number'], optional: 'number of rows' },
  },
  map: { x: { title: 'Longitude', kinds: ['number'] }, y: { title: 'Latitude', kinds: ['number'] }, color: series },
}

const [latitude, longitude] = [/^(.*_)?(lat|latitude)$/i, /^(.*_)?(lon|lng|long|longitude)$/i]

const first = (columns: ResultColumn[], fits: (c: ResultColumn) => boolean, not: number[] = []): number =>
  columns.findIndex((c, i) => !not.includes(i) && fits(c))
const ofKind =
  (...kinds: Kind[]) =>
  (c: ResultColumn) =>
    kinds.includes(c.kind)

/** suggest chooses a chart by the types and names of the columns. */
export function suggest(result: ResultData): Settings {
  const c = result.columns
  const number = first(c, ofKind('number'))
  const time = first(c, ofKind('time'))
  const text = first(c, ofKind('text', 'bool'))
  const chart = ((): Chart => {
    if (first(c, x => latitude.test(x.name)) >= 0 && first(c, x => longitude.test(x.name)) >= 0) return 'map'
    if (time >= 0 && number >= 0) return 'line'
    if (text >= 0) return 'bar'
    if (number >= 0 && first(c, ofKind('number'), [number]) >= 0) return 'scatter'
    return number >= 0 ? 'histogram' : 'bar'
  })()
  return usable(result, { chart, x: -1, y: -1, color: -1 })
}

/** usable replaces columns that the chart cannot use by the first that it can. */
export function usable(result: ResultData, s: Settings): Settings {
  const c = result.columns
  const fits = (role: 'x' | 'y' | 'color', at: number) => {
    const column = c[at]
    return column !== undefined && (roles[s.chart][role]?.kinds.includes(column.kind) ?? false)
  }
  const pick = (role: 'x' | 'y' | 'color', not: number[]): number => {
    const r = roles[s.chart][role]
    if (!r) return -1
    if (fits(role, s[role]) && !not.includes(s[role])) return s[role]
    if (role === 'color') return -1
    if (s.chart === 'map') {
      const named = first(c, x => (role === 'x' ? longitude : latitude).test(x.name) && x.kind === 'number')
      if (named >= 0) return named
    }
    const better = { line: ofKind('time'), bar: ofKind('text', 'bool') }[s.chart as 'line' | 'bar']
    const best = role === 'x' && better ? first(c, better, not) : -1
    return best >= 0 ? best : first(c, x => r.kinds.includes(x.kind), not)
  }
  const x = pick('x', [])
  const y = pick('y', [x])
  return { chart: s.chart, x, y, color: pick('color', []) }
}

/** How many points a chart has at most; more cannot be distinguished, or take too long to draw. */
const limits: Record<Chart, number> = {
  bar: 1_000_000,
  line: 20_000,
  scatter: 10_000,
  histogram: 200_000,
  heat: 200_000,
  map: 10_000,
}
const [mostBars, mostSeries] = [60, 12]

export type Value = number | Date | string

export interface Point {
  x: Value
  y: Value
  color?: Value
}

export interface ChartData {
  points: Point[]
  /** Why nothing can be drawn. */
  missing?: string
  /** What was left out. */
  notes: string[]
  titles: string[]
  row: (p: Point) => Value[]
  /** Which axes are continuous. */
  continuous: { x: boolean; y: boolean }
}

export function dataOf(result: ResultData, s: Settings): ChartData {
  const need = roles[s.chart]
  const used = (['x', 'y', 'color'] as const).filter(r => need[r] && s[r] >= 0)
  const data: ChartData = {
    points: [],
    notes: [],
    titles: used.map(r => shown(result.columns[s[r]]?.name ?? '', 60) || '(no name)'),
    row: p => used.map(r => p[r]!),
    continuous: {
      x: scale.includes(result.columns[s.x]?.kind ?? 'text'),
      y: scale.includes(result.columns[s.y]?.kind ?? 'text'),
    },
  }
  for (const role of ['x', 'y'] as const) {
    const r = need[role]
    if (r && !r.optional && s[role] < 0)
      return {
        ...data,
        missing: `${charts[s.chart]}: it needs a column for “${r.title}” (${r.kinds.join(' or ')}); the result has none.`,
      }
  }
  // Of too many rows, every nth is drawn: the first ones alone would show a part of the time or the map.
  const step = Math.max(1, Math.ceil(result.rows / limits[s.chart]))
  if (step > 1)
    data.notes.push(
      `${count(Math.ceil(result.rows / step))} of ${count(result.rows)} rows are drawn: one in ${count(step)}.`,
    )
  const value = (row: number, column: number): Value | null => {
    const kind = result.columns[column]!.kind
    if (scale.includes(kind)) {
      const n = result.number(row, column)
      return !Number.isFinite(n) ? null : kind === 'time' ? new Date(n) : n
    }
    return result.text(row, column)
  }
  if (s.chart === 'bar') return bars(result, s, data)
  let without = 0
  for (let row = 0; row < result.rows; row += step) {
    const x = value(row, s.x)
    const y = need.y ? value(row, s.y) : 0
    const ok = s.chart !== 'map' || (Math.abs(x as number) <= 180 && Math.abs(y as number) <= 90)
    if (x === null || y === null || !ok) {
      without++
      continue
    }
    const p: Point = { x, y }
    if (s.color >= 0) p.color = value(row, s.color) ?? 'NULL'
    data.points.push(p)
  }
  if (without > 0)
    data.notes.push(
      `${count(without)} rows are left out: they have NULL, NaN or infinity${s.chart === 'map' ? ', or are no place on the earth' : ''}.`,
    )
  if (s.color >= 0 && s.chart !== 'heat' && result.columns[s.color]!.kind !== 'number') fewSeries(data)
  return data
}

/** bars adds up the rows of each bar. The longest are shown if there are too many. */
function bars(result: ResultData, s: Settings, data: ChartData): ChartData {
  const sums = new Map<string, number>()
  for (let row = 0; row < result.rows; row++) {
    const name = result.text(row, s.x) ?? 'NULL'
    const n = s.y >= 0 ? result.number(row, s.y) : 1
    sums.set(name, (sums.get(name) ?? 0) + (Number.isFinite(n) ? n : 0))
  }
  let list = [...sums]
  if (list.length > mostBars) {
    list = list.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, mostBars)
    data.notes.push(`The ${mostBars} longest of ${count(sums.size)} bars are drawn.`)
  }
  data.points = list.map(([x, y]) => ({ x, y }))
  data.titles = [data.titles[0]!, s.y >= 0 ? `sum of ${data.titles[1]}` : 'rows']
  data.row = p => [p.x, p.y]
  return data
}

/** fewSeries puts the smallest series together, as colours are few. */
function fewSeries(data: ChartData) {
  const sizes = new Map<Value, number>()
  for (const p of data.points) sizes.set(p.color!, (sizes.get(p.color!) ?? 0) + 1)
  if (sizes.size <= mostSeries) return
  const kept = new Set(
    [...sizes]
      .sort((a, b) => b[1] - a[1])
      .slice(0, mostSeries - 1)
      .map(([name]) => name),
  )
  for (const p of data.points) if (!kept.has(p.color!)) p.color = 'others'
  data.notes.push(`${count(sizes.size - kept.size)} small groups are drawn as “others”.`)
}
