// The order of a result's rows by one column. NULL is last in both directions, NaN after all numbers.
import type { Result } from './arrow.ts'

const collator = new Intl.Collator('en', { numeric: true })

export function sortRows(result: Result, column: number, down: boolean): Uint32Array {
  const n = result.rows
  const keys: (number | bigint | string | null)[] = new Array(n)
  for (let i = 0; i < n; i++) keys[i] = result.order(i, column)
  const order = new Uint32Array(n)
  for (let i = 0; i < n; i++) order[i] = i
  const sign = down ? -1 : 1
  order.sort((x, y) => {
    const [a, b] = [keys[x]!, keys[y]!]
    if (a === null || b === null) return a === b ? x - y : a === null ? 1 : -1
    if (typeof a === 'string') return sign * collator.compare(a, b as string) || x - y
    if (a < (b as number)) return -sign
    if (a > (b as number)) return sign
    if (a === b) return x - y
    // One is NaN, which is equal to itself and greater than all else, as in DuckDB.
    const [na, nb] = [Number.isNaN(a), Number.isNaN(b)]
    return na === nb ? x - y : na ? sign : -sign
  })
  return order
}
