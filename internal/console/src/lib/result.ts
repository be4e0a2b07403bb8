// A result as views take it, whatever it came as: Arrow in the SQL page (lib/arrow.ts), or rows of JSON.

/** How a column is sorted, drawn and aligned. */
export type Kind = 'number' | 'time' | 'bool' | 'text' | 'binary' | 'nested'

export interface ResultColumn {
  name: string
  type: string
  kind: Kind
}

/** What values are sorted by; of a nested value, the keys of what it has. */
export type Key = number | bigint | string | (Key | null)[]

export interface ResultData {
  readonly columns: ResultColumn[]
  /** How many rows there are. */
  readonly rows: number
  /** The text of a value; null is NULL. */
  text(row: number, column: number): string | null
  /** The value as a literal of JSON. */
  json(row: number, column: number): string
  /** What the value is sorted by. */
  order(row: number, column: number): Key | null
  /** The value as a number, for charts; times are milliseconds since 1970. NULL and what is no number are NaN. */
  number(row: number, column: number): number
}

const isTime = /^-?\d{4,}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?)?$/

/**
 * ofRows is the result of rows of JSON, as a tool returns them. JSON has fewer types than SQL: a column
 * has the kind that all its values have.
 */
export function ofRows(rows: Record<string, unknown>[]): ResultData {
  const names = [...new Set(rows.flatMap(r => Object.keys(r)))]
  const columns = names.map((name): ResultColumn => {
    const values = rows.map(r => r[name]).filter(v => v != null)
    const every = (test: (v: unknown) => boolean) => values.length > 0 && values.every(test)
    if (every(v => typeof v === 'number')) return { name, type: 'DOUBLE', kind: 'number' }
    if (every(v => typeof v === 'boolean')) return { name, type: 'BOOLEAN', kind: 'bool' }
    if (every(v => typeof v === 'string' && isTime.test(v))) return { name, type: 'TIMESTAMP', kind: 'time' }
    if (every(v => typeof v === 'object')) return { name, type: 'JSON', kind: 'nested' }
    return { name, type: 'VARCHAR', kind: 'text' }
  })
  const value = (row: number, column: number) => rows[row]![names[column]!]
  const text = (row: number, column: number): string | null => {
    const v = value(row, column)
    return v == null ? null : typeof v === 'object' ? JSON.stringify(v) : String(v)
  }
  return {
    columns,
    rows: rows.length,
    text,
    json: (row, column) => JSON.stringify(value(row, column) ?? null),
    order: (row, column) => {
      const v = value(row, column)
      return typeof v === 'number' ? v : text(row, column)
    },
    number: (row, column) => {
      const v = value(row, column)
      if (typeof v === 'number') return v
      return columns[column]!.kind === 'time' && typeof v === 'string' ? Date.parse(zoned(v)) : NaN
    },
  }
}

/** Times without a zone are UTC, as everywhere in the API. */
const zoned = (time: string): string => (/[T ]/.test(time) && !/(Z|[+-]\d\d(:?\d\d)?)$/.test(time) ? time + 'Z' : time)
