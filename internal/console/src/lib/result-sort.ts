// The order of a result's rows by one column, as ORDER BY of DuckDB has it: texts by their characters,
// NaN after all numbers. NULL is last in both directions. A million texts take seconds, so sorting is done
// in steps, between which the page answers.
import { useEffect, useState } from 'preact/hooks'
import type { Key, ResultData } from './result.ts'
import { finish, inSteps, step } from './steps.ts'

export interface Sort {
  column: number
  down: boolean
}

const safe = BigInt(Number.MAX_SAFE_INTEGER)

const astral = /[\ud800-\uffff]/
const each = new RegExp(astral, 'g')

/**
 * comparable is a key in a form that < compares fast and as DuckDB does. Numbers are faster than big
 * integers, and the two compare with each other. Texts are compared by their code points: JavaScript
 * compares UTF-16 units, where those of an emoji are less than U+E000 to U+FFFF; they change places here.
 */
function comparable(key: Key): Key {
  if (typeof key === 'bigint') return key > -safe && key < safe ? Number(key) : key
  if (typeof key === 'string')
    return astral.test(key)
      ? key.replace(each, c => String.fromCharCode(c.charCodeAt(0) + (c < '\ue000' ? 0x2000 : -0x800)))
      : key
  return typeof key === 'object' ? key.map(k => k && comparable(k)) : key
}

function compareKeys(a: Key, b: Key): number {
  if (typeof a === 'object') return compareLists(a, b as (Key | null)[])
  if (a < b) return -1
  if (a > b) return 1
  const [na, nb] = [Number.isNaN(a), Number.isNaN(b)] // NaN is neither less nor greater nor equal
  return na === nb ? 0 : na ? 1 : -1
}

/** Inside of lists and structs NULL is after all values, whatever the direction is. */
function compareLists(a: (Key | null)[], b: (Key | null)[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const [x, y] = [a[i]!, b[i]!]
    const c = x === null || y === null ? Number(x === null) - Number(y === null) : compareKeys(x, y)
    if (c !== 0) return c
  }
  return a.length - b.length
}

function* sorting(result: ResultData, { column, down }: Sort): Generator<void, Uint32Array> {
  const n = result.rows
  const order = new Uint32Array(n)
  // Rows with a value stand in front, those with NULL behind them.
  let [values, nulls] = [0, n]
  const keys: Key[] = new Array(n)
  for (let i = 0; i < n; i++) {
    if (i % step === 0) yield
    const key = result.order(i, column)
    if (key === null) order[--nulls] = i
    else {
      keys[i] = comparable(key)
      order[values++] = i
    }
  }
  order.subarray(nulls).reverse()
  const sign = down ? -1 : 1
  const compare = (x: number, y: number) => {
    const c = compareKeys(keys[x]!, keys[y]!)
    return c === 0 ? x - y : c * sign
  }
  // Runs of one step are sorted, then pairs of runs are merged until one is left.
  for (let at = 0; at < values; at += step) {
    order.subarray(at, Math.min(at + step, values)).sort(compare)
    yield
  }
  let [from, to] = [order, order.slice()]
  for (let run = step; run < values; run *= 2) {
    for (let at = 0; at < values; at += 2 * run) {
      let [a, b] = [at, at + run]
      const [endA, endB] = [Math.min(at + run, values), Math.min(at + 2 * run, values)]
      for (let i = at; i < endB; i++) {
        if (i % step === 0) yield
        to[i] = b >= endB || (a < endA && compare(from[a]!, from[b]!) <= 0) ? from[a++]! : from[b++]!
      }
    }
    ;[from, to] = [to, from]
  }
  return from
}

/** sortRows returns the numbers of the rows in their order. */
export const sortRows = (result: ResultData, sort: Sort): Uint32Array => finish(sorting(result, sort))

/**
 * useSorted returns the order of a result's rows, once it is known: until then that of before, and sorting.
 * version changes with the rows. Without a sort there is no order.
 */
export function useSorted(result: ResultData, sort: Sort | undefined, version: unknown) {
  const [done, set] = useState<{ result: ResultData; sort: Sort; version: unknown; order: Uint32Array }>()
  useEffect(() => {
    return sort && inSteps(sorting(result, sort), order => set({ result, sort, version, order }))
  }, [result, sort, version])
  const known = sort && done?.result === result ? done : undefined
  return { order: known?.order, sorting: sort !== undefined && (known?.sort !== sort || known.version !== version) }
}
