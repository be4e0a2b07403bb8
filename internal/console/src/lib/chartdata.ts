// The points of a chart. They are made of all rows in steps (lib/steps.ts): what is counted or added up is
// so over all rows, lines keep their lowest and highest values, and only single points are a sample.
import { type Settings, charts, roles, scale } from './chart.ts'
import { count, plural } from './format.ts'
import type { ResultData } from './result.ts'
import { step } from './steps.ts'
import { shown } from './text.ts'

export type Value = number | Date | string

/** A point, or from x to x2 and y to y2. */
export interface Point {
  x: Value
  y: Value
  x2?: Value
  y2?: Value
  color?: Value
}

export interface Drawing {
  points: Point[]
  /** Why nothing can be drawn. */
  missing?: string
  /** What was left out. */
  notes: string[]
  /** What the length of bars, the height of a histogram or the colour of a heat map is. */
  measure: string
  /** The columns of the chart as a table, and its rows. */
  titles: string[]
  row: (p: Point) => Value[]
}

type Steps<T> = Generator<void, T>

const mostPoints = 10_000 // of a scatter plot or a map; more cannot be distinguished
const mostLine = 20_000 // points of all lines
const [mostBars, mostSeries] = [60, 12]
const [slotsX, slotsY] = [60, 40]
const mostTexts = 100_000 // different ones of a column; more would fill the memory, and stop the page
// The difference of two larger numbers can be infinite, and JavaScript has no later time.
const [largest, latest] = [1e300, 8.64e15]

/** numbers reads a column for a continuous axis. NaN is what has no place there. */
function numbers(result: ResultData, column: number): (row: number) => number {
  const most = result.columns[column]!.kind === 'time' ? latest : largest
  return row => {
    const n = result.number(row, column)
    return Math.abs(n) <= most ? n : NaN
  }
}

export const nameOf = (result: ResultData, column: number): string =>
  shown(result.columns[column]!.name, 40) || '(no name)'
const isScale = (result: ResultData, column: number): boolean => scale.includes(result.columns[column]?.kind ?? 'text')
const isTime = (result: ResultData, column: number): boolean => result.columns[column]?.kind === 'time'
const valueOf = (time: boolean, n: number): Value => (time ? new Date(n) : n)

/** drawing makes the points. What fails is reported in the place of the chart. */
export function* drawing(result: ResultData, s: Settings): Steps<Drawing> {
  const d: Drawing = { points: [], notes: [], measure: 'rows', titles: [], row: () => [] }
  try {
    yield* fill(result, s, d)
  } catch (e) {
    d.missing = `The chart cannot be drawn: ${(e as Error).message}.`
  }
  return d
}

function* fill(result: ResultData, s: Settings, d: Drawing): Steps<void> {
  const need = roles[s.chart]
  const used = (['x', 'y', 'color'] as const).filter(r => need[r] && s[r] >= 0)
  d.titles = used.map(r => nameOf(result, s[r]))
  d.row = p => used.map(r => p[r]!)
  for (const role of ['x', 'y'] as const) {
    const r = need[role]
    if (!r || r.optional || s[role] >= 0) continue
    const other = role === 'y' && s.x >= 0 ? 'another' : 'a'
    d.missing = `${charts[s.chart]}: it needs ${other} column for “${r.title}” (${r.kinds.join(' or ')}); the result has none.`
    return
  }
  const draw = { bar: bars, line: lines, scatter: dots, map: dots, histogram, heat }[s.chart]
  const without = yield* draw(result, s, d)
  if (without > 0) {
    const has = (time: boolean) => used.some(r => isScale(result, s[r]) && isTime(result, s[r]) === time)
    const what = [
      'NULL',
      ...(has(false) ? ['NaN'] : []),
      ...(has(true) || has(false) ? ['infinity'] : []),
      ...(has(false) ? ['a number beyond 1e300'] : []),
      ...(has(true) ? ['a time beyond the year 275,760'] : []),
      ...(s.chart === 'map' ? ['a place that is not on the earth'] : []),
    ]
    const list = what.length > 1 ? `${what.slice(0, -1).join(', ')} or ${what.at(-1)}` : what[0]
    d.notes.unshift(`${plural(without, 'row is', 'rows are')} left out, with ${list}.`)
  }
}

// Each of these returns how many rows it left out for their values.

/** bars adds up the rows of each bar. The longest are shown if there are too many. */
function* bars(result: ResultData, s: Settings, d: Drawing): Steps<number> {
  const length = s.y >= 0 ? numbers(result, s.y) : () => 1
  const places = new Map<string | null, number>()
  const sums: number[] = []
  const rows: number[] = []
  let without = 0
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const name = result.text(row, s.x)
    let at = places.get(name)
    if (at === undefined) {
      places.set(name, (at = sums.length))
      few(places, result, s.x)
      sums.push(0)
      rows.push(0)
    }
    const v = length(row)
    if (Number.isNaN(v)) without++
    else {
      sums[at]! += v
      rows[at]!++
    }
  }
  let [drawn, single] = [0, true]
  for (const [at, n] of rows.entries()) {
    if (at % step === 0) yield
    if (n > 0) drawn++
    if (n > 1) single = false
  }
  const full = function* (): Iterable<[string | null, number]> {
    for (const [name, at] of places) if (rows[at]! > 0) yield [name, Math.abs(sums[at]!)]
  }
  const names = drawn > mostBars ? yield* most(full(), mostBars) : [...full()].map(([name]) => name)
  d.points = names.map(name => ({ x: name ?? 'NULL', y: sums[places.get(name)!]! }))
  if (drawn > mostBars) d.notes.push(`The ${mostBars} longest of ${count(drawn)} bars are drawn.`)
  const empty = places.size - drawn
  if (empty > 0) d.notes.push(`${plural(empty, 'bar has', 'bars have')} no other rows, and no length.`)
  if (s.y >= 0) d.measure = single ? d.titles[1]! : `sum of ${d.titles[1]}`
  d.titles = [d.titles[0]!, d.measure]
  d.row = p => [p.x, p.y]
  return without
}

function few(texts: Map<unknown, unknown>, result: ResultData, column: number) {
  if (texts.size > mostTexts)
    throw new Error(
      `${nameOf(result, column)} has more than ${count(mostTexts)} different values; GROUP BY and LIMIT in the statement choose some of them`,
    )
}

/** most returns the names with the largest numbers. */
function* most<T>(list: Iterable<[T, number]>, limit: number): Steps<T[]> {
  let top: [T, number][] = []
  const cut = () => (top = top.sort((a, b) => b[1] - a[1]).slice(0, limit))
  for (const entry of list)
    if (top.push(entry) === step) {
      cut()
      yield
    }
  return cut().map(([name]) => name)
}

/** frequent returns the texts that most rows have, and how many texts there are. */
function* frequent(result: ResultData, column: number, limit: number): Steps<[texts: string[], all: number]> {
  const sizes = new Map<string, number>()
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const text = result.text(row, column)
    if (text === null) continue
    sizes.set(text, (sizes.get(text) ?? 0) + 1)
    few(sizes, result, column)
  }
  return [yield* most(sizes, limit), sizes.size]
}

/** seriesOf names the series of a row. The smallest are one, as colours are few. */
function* seriesOf(result: ResultData, s: Settings, d: Drawing): Steps<(row: number) => string> {
  const [texts, all] = yield* frequent(result, s.color, mostSeries)
  const kept = new Set(all > mostSeries ? texts.slice(0, -1) : texts)
  if (all > mostSeries) d.notes.push(`${count(all - kept.size)} small groups are drawn as “others”.`)
  return row => {
    const text = result.text(row, s.color)
    return text === null ? 'NULL' : kept.has(text) ? text : 'others'
  }
}

/** lines joins the points in the order of x. Of too many, each part of the axis has its lowest and highest. */
function* lines(result: ResultData, s: Settings, d: Drawing): Steps<number> {
  const series = s.color >= 0 ? yield* seriesOf(result, s, d) : undefined
  const y = numbers(result, s.y)
  if (!isScale(result, s.x)) return yield* linesOfTexts(result, s, d, y, series)
  const [x, time] = [numbers(result, s.x), isTime(result, s.x)]
  let [low, high, valid] = [Infinity, -Infinity, 0]
  const names = new Set<string>()
  const n = result.rows
  for (let row = 0; row < n; row++) {
    if (row % step === 0) yield
    const v = x(row)
    if (Number.isNaN(v) || Number.isNaN(y(row))) continue
    valid++
    if (v < low) low = v
    if (v > high) high = v
    if (series) names.add(series(row))
  }
  const rows: number[] = []
  if (valid <= mostLine) {
    for (let row = 0; row < n; row++) {
      if (row % step === 0) yield
      if (!Number.isNaN(x(row)) && !Number.isNaN(y(row))) rows.push(row)
    }
  } else {
    const parts = Math.min(2000, Math.floor(mostLine / 2 / Math.max(1, names.size)))
    const ends = new Map<string, { low: Int32Array; high: Int32Array }>()
    for (let row = 0; row < n; row++) {
      if (row % step === 0) yield
      const [v, w] = [x(row), y(row)]
      if (Number.isNaN(v) || Number.isNaN(w)) continue
      const name = series?.(row) ?? ''
      let of = ends.get(name)
      if (!of) ends.set(name, (of = { low: new Int32Array(parts).fill(-1), high: new Int32Array(parts).fill(-1) }))
      const at = Math.min(parts - 1, Math.floor(((v - low) / (high - low || 1)) * parts))
      if (of.low[at]! < 0 || w < y(of.low[at]!)) of.low[at] = row
      if (of.high[at]! < 0 || w > y(of.high[at]!)) of.high[at] = row
    }
    for (const of of ends.values())
      for (let at = 0; at < parts; at++)
        if (of.low[at]! >= 0) rows.push(...(of.low[at] === of.high[at] ? [of.low[at]!] : [of.low[at]!, of.high[at]!]))
    d.notes.push(
      `Of ${count(valid)} points, the lowest and the highest of each of ${count(parts)} parts of the axis are drawn.`,
    )
  }
  d.points = rows
    .sort((a, b) => x(a) - x(b) || a - b)
    .map(row => ({ x: valueOf(time, x(row)), y: y(row), ...(series && { color: series(row) }) }))
  return n - valid
}

/** linesOfTexts has the texts in the order of the rows. Many texts, or one twice in a line, are a scribble. */
function* linesOfTexts(
  result: ResultData,
  s: Settings,
  d: Drawing,
  y: (row: number) => number,
  series?: (row: number) => string,
): Steps<number> {
  const places = new Map<string, number>()
  const seen = new Set<string>()
  let without = 0
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const [text, v] = [result.text(row, s.x), y(row)]
    if (text === null || Number.isNaN(v)) {
      without++
      continue
    }
    const color = series?.(row)
    const name = JSON.stringify([text, color])
    if (!places.has(text)) places.set(text, places.size)
    if (seen.has(name) || places.size > mostBars) {
      d.points = []
      d.missing = `Lines over texts: each text can be once in a line, and there can be ${mostBars} at most. Bars add up the rows of each text.`
      return 0
    }
    seen.add(name)
    d.points.push({ x: text, y: v, ...(color !== undefined && { color }) })
  }
  d.points.sort((a, b) => places.get(a.x as string)! - places.get(b.x as string)!)
  return without
}

/** dots are those of all rows or, of too many, of rows that are chosen at random: the same each time. */
function* dots(result: ResultData, s: Settings, d: Drawing): Steps<number> {
  const [x, y] = [numbers(result, s.x), numbers(result, s.y)]
  const number = s.color >= 0 && result.columns[s.color]!.kind === 'number' ? numbers(result, s.color) : undefined
  const series = s.color >= 0 && !number ? yield* seriesOf(result, s, d) : undefined
  const chosen = new Int32Array(mostPoints)
  const random = sequence()
  let valid = 0
  const n = result.rows
  for (let row = 0; row < n; row++) {
    if (row % step === 0) yield
    const [v, w] = [x(row), y(row)]
    if (Number.isNaN(v) || Number.isNaN(w) || (number && Number.isNaN(number(row)))) continue
    if (s.chart === 'map' && (Math.abs(v) > 180 || Math.abs(w) > 90)) continue
    const at = valid < mostPoints ? valid : Math.floor(random() * (valid + 1)) // reservoir sampling
    if (at < mostPoints) chosen[at] = row
    valid++
  }
  d.points = [...chosen.subarray(0, valid).sort()].map(row => ({
    x: valueOf(isTime(result, s.x), x(row)),
    y: valueOf(isTime(result, s.y), y(row)),
    ...(s.color >= 0 && { color: number ? number(row) : series!(row) }),
  }))
  if (valid > mostPoints) d.notes.push(`${count(mostPoints)} of ${count(valid)} points are drawn, chosen at random.`)
  return n - valid
}

/** sequence makes numbers from 0 to 1 that look random (mulberry32). */
function sequence(): () => number {
  let state = 1
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

function* histogram(result: ResultData, s: Settings, d: Drawing): Steps<number> {
  const x = yield* slotsOf(result, s.x, slotsX, d)
  const counts = new Float64Array(x.size)
  let without = 0
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const at = x.of(row)
    if (at >= 0) counts[at]!++
    else without++
  }
  d.points = Array.from(counts, (n, at) => ({ x: x.from(at), x2: x.to(at), y: n })).filter(p => p.y > 0)
  d.titles = [`${d.titles[0]} from`, 'to', 'rows']
  d.row = p => [p.x, p.x2!, p.y]
  return without
}

/** heat counts the rows of each cell, or has the mean of the values there. */
function* heat(result: ResultData, s: Settings, d: Drawing): Steps<number> {
  const x = yield* slotsOf(result, s.x, slotsX, d)
  const y = yield* slotsOf(result, s.y, slotsY, d)
  const value = s.color >= 0 ? numbers(result, s.color) : () => 1
  const counts = new Float64Array(x.size * y.size)
  const sums = new Float64Array(x.size * y.size)
  let without = 0
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const [a, b, v] = [x.of(row), y.of(row), value(row)]
    if (a === none || b === none || Number.isNaN(v)) without++
    else if (a >= 0 && b >= 0) {
      const at = a * y.size + b
      counts[at]!++
      sums[at]! += v
    }
  }
  for (const [at, n] of counts.entries()) {
    if (n === 0) continue
    const [a, b] = [Math.floor(at / y.size), at % y.size]
    const color = s.color >= 0 ? sums[at]! / n : n
    d.points.push({ x: x.from(a), x2: x.to(a), y: y.from(b), y2: y.to(b), color })
  }
  if (s.color >= 0) d.measure = `mean of ${d.titles.at(-1)}`
  const ends = (axis: Slots, name: string) => (axis.continuous ? [`${name} from`, 'to'] : [name])
  d.titles = [...ends(x, d.titles[0]!), ...ends(y, d.titles[1]!), d.measure]
  d.row = p => [...(x.continuous ? [p.x, p.x2!] : [p.x]), ...(y.continuous ? [p.y, p.y2!] : [p.y]), p.color!]
  return without
}

/** The parts of an axis: intervals of a continuous one, else texts. */
interface Slots {
  size: number
  continuous: boolean
  /** The part of a row: none if it has no value, and rare if its text has no part. */
  of: (row: number) => number
  from: (at: number) => Value
  to: (at: number) => Value
}

const [none, rare] = [-1, -2]

function* slotsOf(result: ResultData, column: number, parts: number, d: Drawing): Steps<Slots> {
  if (!isScale(result, column)) {
    const [texts, all] = yield* frequent(result, column, parts)
    const places = new Map(texts.map((text, at) => [text, at]))
    if (all > parts)
      d.notes.push(`${nameOf(result, column)}: the ${parts} most frequent of ${count(all)} values are drawn.`)
    const of = (row: number) => {
      const text = result.text(row, column)
      return text === null ? none : (places.get(text) ?? rare)
    }
    return { size: texts.length, continuous: false, of, from: at => texts[at]!, to: at => texts[at]! }
  }
  const [value, time] = [numbers(result, column), isTime(result, column)]
  let [low, high, whole] = [Infinity, -Infinity, true]
  for (let row = 0, n = result.rows; row < n; row++) {
    if (row % step === 0) yield
    const v = value(row)
    if (v < low) low = v
    if (v > high) high = v
    if (!Number.isInteger(v) && !Number.isNaN(v)) whole = false
  }
  const ends = low <= high ? edges(low, high, parts, time, whole) : []
  const size = Math.max(0, ends.length - 1)
  const of = (row: number) => {
    const v = value(row)
    if (Number.isNaN(v)) return none
    let [a, b] = [0, size - 1]
    while (a < b) {
      const middle = (a + b + 1) >> 1
      if (ends[middle]! <= v) a = middle
      else b = middle - 1
    }
    return a
  }
  return { size, continuous: true, of, from: at => valueOf(time, ends[at]!), to: at => valueOf(time, ends[at + 1]!) }
}

const [second, minute, hour, day, month] = [1000, 60_000, 3_600_000, 86_400_000, 30.44 * 86_400_000]
const spans = [1, 5, 15, 30].flatMap(n => [n * second, n * minute])
const longer = [1, 3, 6, 12].map(n => n * hour).concat([1, 2, 5, 10].map(n => n * day))
const times = [...spans, ...longer].sort((a, b) => a - b)

/** round is the least number of the form 1, 2 or 5 times a power of ten that is not below n. */
function round(n: number): number {
  const power = 10 ** Math.floor(Math.log10(n))
  return ([1, 2, 5].find(f => f * power >= n) ?? 10) * power
}

/** edges are the ends of so many intervals or fewer, at round numbers or times, from low to high. */
export function edges(low: number, high: number, parts: number, time: boolean, whole: boolean): number[] {
  const limit = time ? latest : Number.MAX_VALUE
  const within = (n: number) => Math.max(-limit, Math.min(limit, n))
  if (low === high) {
    const half = time ? day / 2 : Math.max(0.5, Math.abs(low) * 1e-9)
    return [within(low - half), within(low + half)]
  }
  const least = (high - low) / (parts - 1)
  let at: (k: number) => number
  if (time && least > times.at(-1)!) {
    const months = [1, 3, 6].find(m => m * month >= least) ?? 12 * round(least / (12 * month))
    const first = new Date(low)
    const begin = Math.floor(((first.getUTCFullYear() - 1970) * 12 + first.getUTCMonth()) / months)
    at = k => Date.UTC(1970, (begin + k) * months)
  } else {
    const span = (time && least > second / 2 ? times.find(t => t >= least) : undefined) ?? round(least)
    const width = Math.max(span, whole || time ? 1 : Number.MIN_VALUE)
    const begin = Math.floor(low / width)
    at = k => (width < 1 ? Number(((begin + k) * width).toPrecision(15)) : (begin + k) * width)
  }
  const list = [low]
  for (let k = 0; k <= parts && list.at(-1)! <= high; k++) {
    const edge = within(at(k))
    if (k === 0 && edge <= low) list[0] = edge
    else if (edge > list.at(-1)!) list.push(edge)
  }
  if (list.at(-1)! < high) list.push(high)
  return list
}
