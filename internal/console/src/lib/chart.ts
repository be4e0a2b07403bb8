// What a chart shows of a result: which columns it needs, and which it begins with. Its points are in chartdata.ts.
import type { Kind, ResultColumn, ResultData } from './result.ts'

export const charts = {
  bar: 'Bars',
  line: 'Lines',
  scatter: 'Scatter plot',
  histogram: 'Histogram',
  heat: 'Heat map',
  map: 'Map of points',
}
export type Chart = keyof typeof charts

/** Columns are positions, as names can be equal; -1 means no column, and open that usable chooses. */
export interface Settings {
  chart: Chart
  x: number
  y: number
  color: number
}

export const open = -2

interface Role {
  title: string
  kinds: Kind[]
  /** What the choice of no column is called. */
  optional?: string
}

/** The kinds of columns that have a continuous axis. */
export const scale: Kind[] = ['number', 'time']
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
  return usable(result, { chart, x: open, y: open, color: open })
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
    if (role === 'color' || (r.optional && s[role] === -1)) return -1
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
