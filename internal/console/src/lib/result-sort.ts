// The order of a result's rows by one column, as ORDER BY of DuckDB has it: texts by their characters,
// NaN after all numbers. NULL is last in both directions.
import type { ResultData } from './result.ts'

const safe = BigInt(Number.MAX_SAFE_INTEGER)

export function sortRows(result: ResultData, column: number, down: boolean): Uint32Array {
  const n = result.rows
  const order = new Uint32Array(n)
  // Rows with a value stand in front, those with NULL behind them.
  let [values, nulls] = [0, n]
  const keys: (number | bigint | string)[] = new Array(n)
  for (let i = 0; i < n; i++) {
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
  order.subarray(0, values).sort((x, y) => {
    const [a, b] = [keys[x]!, keys[y]!]
    if (a < b) return -sign
    if (a > b) return sign
    if (a === b) return x - y
    const [na, nb] = [Number.isNaN(a), Number.isNaN(b)] // NaN is neither less nor greater nor equal
    return na === nb ? x - y : na ? sign : -sign
  })
  return order
}
