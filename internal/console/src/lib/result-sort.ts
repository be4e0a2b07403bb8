// The order of a result's rows by one column, as ORDER BY of DuckDB has it: texts by their characters,
// NaN after all numbers. NULL is last in both directions. A million texts take seconds, so sorting is done
// in steps, between which the page answers.
import { useEffect, useState } from 'preact/hooks'
import type { ResultData } from './result.ts'

export interface Sort {
  column: number
  down: boolean
}

const safe = BigInt(Number.MAX_SAFE_INTEGER)
const step = 4096 // rows
const slice = 8 // ms of steps, between which the page draws

function* sorting(result: ResultData, { column, down }: Sort): Generator<void, Uint32Array> {
  const n = result.rows
  const order = new Uint32Array(n)
  // Rows with a value stand in front, those with NULL behind them.
  let [values, nulls] = [0, n]
  const keys: (number | bigint | string)[] = new Array(n)
  for (let i = 0; i < n; i++) {
    if (i % step === 0) yield
    const key = result.order(i, column)
    if (key === null) order[--nulls] = i
    else {
      // Numbers are compared faster than big integers; the two compare with each other.
      keys[i] = typeof key === 'bigint' && key > -safe && key < safe ? Number(key) : key
      order[values++] = i
    }
  }
  order.subarray(nulls).reverse()
  const sign = down ? -1 : 1
  const compare = (x: number, y: number) => {
    const [a, b] = [keys[x]!, keys[y]!]
    if (a < b) return -sign
    if (a > b) return sign
    if (a === b) return x - y
    const [na, nb] = [Number.isNaN(a), Number.isNaN(b)] // NaN is neither less nor greater nor equal
    return na === nb ? x - y : na ? sign : -sign
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
export function sortRows(result: ResultData, sort: Sort): Uint32Array {
  const steps = sorting(result, sort)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/**
 * useSorted returns the order of a result's rows, once it is known: until then that of before, and sorting.
 * version changes with the rows. Without a sort there is no order.
 */
export function useSorted(result: ResultData, sort: Sort | undefined, version: unknown) {
  const [done, set] = useState<{ result: ResultData; sort: Sort; version: unknown; order: Uint32Array }>()
  useEffect(() => {
    if (!sort) return
    const steps = sorting(result, sort)
    const channel = new MessageChannel()
    const more = () => {
      for (const end = performance.now() + slice; performance.now() < end;) {
        const { done, value } = steps.next()
        if (done) return set({ result, sort, version, order: value })
      }
      channel.port2.postMessage(null) // sooner than a timer, and after what the page has to do
    }
    channel.port1.onmessage = more
    more()
    return () => channel.port1.close()
  }, [result, sort, version])
  const known = sort && done?.result === result ? done : undefined
  return { order: known?.order, sorting: sort !== undefined && (known?.sort !== sort || known.version !== version) }
}
