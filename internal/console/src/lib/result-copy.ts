// Parts of a result as text, in the forms that people paste: TSV, CSV, JSON, Markdown, INSERT.
import type { ResultData } from './result.ts'
import { sqlName, sqlText } from './sqlquote.ts'

export const formats = ['TSV', 'CSV', 'JSON', 'Markdown', 'INSERT'] as const
export type Format = (typeof formats)[number]

export interface Part {
  /** Rows of the result, in the order in which they are shown. */
  rows: ArrayLike<number>
  columns: number[]
}

/** What goes to the clipboard at most, in characters. */
export const mostCopied = 16 << 20

/** linesOf writes a part of a result; its pieces together are the text. */
export function* linesOf(result: ResultData, part: Part, format: Format): Generator<string> {
  const names = part.columns.map(c => result.columns[c]!.name)
  const { begin, row, between, end } = writers[format](names, result, part.columns)
  yield begin
  for (let i = 0; i < part.rows.length; i++) yield (i > 0 ? between : '') + row(part.rows[i]!)
  yield end
}

/** copyText is a part of a result as a text; it throws when that would be longer than limit. */
export function copyText(result: ResultData, part: Part, format: Format, limit = mostCopied): string {
  const tooLong = () =>
    new Error(`more than ${limit >> 20} MiB are too much for the clipboard: select less, or download the result`)
  // Millions of rows take seconds. When even the shortest of a sample is too long, they are not begun.
  if (part.rows.length > 10 * sample) {
    const step = Math.floor(part.rows.length / sample)
    const some = Array.from({ length: sample }, (_, i) => part.rows[i * step]!)
    let shortest = Infinity
    for (const r of some) shortest = Math.min(shortest, [...linesOf(result, { ...part, rows: [r] }, format)][1]!.length)
    if (shortest * part.rows.length > limit) throw tooLong()
  }
  const lines: string[] = []
  let length = 0
  for (const line of linesOf(result, part, format)) {
    length += line.length
    if (length > limit) throw tooLong()
    lines.push(line)
  }
  return lines.join('')
}

const sample = 500 // rows

interface Writer {
  begin: string
  row: (row: number) => string
  between: string
  end: string
}

const writers: Record<Format, (names: string[], result: ResultData, columns: number[]) => Writer> = {
  // Tabs and line breaks would be cells and rows where it is pasted; spreadsheets quote them as CSV does.
  TSV: (names, result, columns) => ({
    begin: names.map(n => quoted(n, /["\t\r\n]/)).join('\t') + '\n',
    row: r => columns.map(c => quoted(result.text(r, c) ?? '', /["\t\r\n]/)).join('\t'),
    between: '\n',
    end: '\n',
  }),
  // CSV and JSON are as the API writes them, so that what is copied and what is downloaded is the same. In
  // CSV, NULL is an empty field and an empty text is "", as COPY of PostgreSQL and DuckDB writes them.
  CSV: (names, result, columns) => ({
    begin: names.map(n => quoted(n, /[",\r\n]/)).join(',') + '\n',
    row: r => columns.map(c => field(result, r, c)).join(',') || '""',
    between: '\n',
    end: '\n',
  }),
  JSON: (names, result, columns) => {
    const keys = distinct(names, ':').map(n => JSON.stringify(n))
    return {
      begin: '[\n',
      row: r => `  {${columns.map((c, i) => `${keys[i]}: ${result.json(r, c)}`).join(', ')}}`,
      between: ',\n',
      end: '\n]\n',
    }
  },
  Markdown: (names, result, columns) => ({
    begin: `| ${names.map(cell).join(' | ')} |\n|${columns.map(c => (result.columns[c]!.kind === 'number' ? '--:' : '---')).join('|')}|\n`,
    row: r => `| ${columns.map(c => cell(result.text(r, c) ?? 'NULL')).join(' | ')} |`,
    between: '\n',
    end: '\n',
  }),
  INSERT: (names, result, columns) => ({
    begin: `INSERT INTO result (${distinctInSql(names).map(sqlName).join(', ')}) VALUES\n`,
    row: r => `  (${columns.map(c => literal(result, r, c)).join(', ')})`,
    between: ',\n',
    end: ';\n',
  }),
}

const quoted = (text: string, special: RegExp): string =>
  special.test(text) ? `"${text.replaceAll('"', '""')}"` : text

function field(result: ResultData, row: number, column: number): string {
  const json = result.json(row, column)
  if (json === 'null') {
    const text = result.text(row, column) ?? '' // NaN and infinity are null in JSON
    return text === 'nan' ? 'NaN' : text
  }
  const text = json.startsWith('"') ? (JSON.parse(json) as string) : json
  return text === '' ? '""' : quoted(text, /[",\r\n]/)
}

const cell = (text: string): string => text.replace(/([\\|`*_<>&[\]])/g, '\\$1').replace(/\r?\n|\r/g, '<br>')

/** distinct numbers names that are equal, as objects cannot have two: a, a:1. */
function distinct(names: string[], mark: string, fold = (name: string) => name): string[] {
  const used = new Set(names.map(fold))
  const seen = new Set<string>()
  return names.map(name => {
    if (!seen.has(fold(name))) return (seen.add(fold(name)), name)
    let n = 1
    while (used.has(fold(`${name}${mark}${n}`))) n++
    used.add(fold(`${name}${mark}${n}`))
    return `${name}${mark}${n}`
  })
}

/** distinctInSql numbers names that are equal for SQL, where upper and lower case are: a, A_1. */
export const distinctInSql = (names: string[]): string[] => distinct(names, '_', n => n.toLowerCase())

function literal(result: ResultData, row: number, column: number): string {
  const text = result.text(row, column)
  if (text === null) return 'NULL'
  const { kind, type } = result.columns[column]!
  if (kind === 'bool') return text
  if (kind === 'number') return /^-?[\d.]+(e[+-]\d+)?$/.test(text) ? text : `${sqlText(text)}::${type}`
  if (kind === 'text' && type === 'VARCHAR') return sqlText(text)
  if (kind === 'nested') return `${sqlText(result.json(row, column))}::JSON`
  return `${sqlText(text)}::${type === 'ENUM' ? 'VARCHAR' : type}`
}
