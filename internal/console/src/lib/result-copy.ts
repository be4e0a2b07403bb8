// Parts of a result as text, in the forms that people paste: TSV, CSV, JSON, Markdown, INSERT.
import type { ResultData } from './result.ts'
import { sqlName, sqlText } from './sqlquote.ts'

export const formats = ['TSV', 'CSV', 'JSON', 'Markdown', 'INSERT'] as const
export type Format = (typeof formats)[number]

export interface Part {
  /** Rows of the result, in the order in which they are shown. */
  rows: Iterable<number>
  columns: number[]
}

/** What goes to the clipboard at most, in characters. */
export const mostCopied = 16 << 20

/** copyText writes a part of a result; it throws when the text would be longer than limit. */
export function copyText(result: ResultData, part: Part, format: Format, limit = mostCopied): string {
  const names = part.columns.map(c => result.columns[c]!.name)
  const lines: string[] = []
  let length = 0
  const add = (line: string) => {
    length += line.length + 1
    if (length > limit)
      throw new Error(
        `more than ${limit >> 20} MiB are too much for the clipboard: select less, or download the result`,
      )
    lines.push(line)
  }
  const { begin, row, between, end } = writers[format](names, result, part.columns)
  for (const r of part.rows) add(row(r))
  return begin + lines.join(between) + end
}

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
  // NULL is an empty field, an empty text is "", as COPY of PostgreSQL and DuckDB writes them.
  CSV: (names, result, columns) => ({
    begin: names.map(n => quoted(n, /[",\r\n]/)).join(',') + '\n',
    row: r =>
      columns
        .map(c => {
          const text = result.text(r, c)
          return text === null ? '' : text === '' ? '""' : quoted(text, /[",\r\n]/)
        })
        .join(','),
    between: '\n',
    end: '\n',
  }),
  JSON: (names, result, columns) => {
    const keys = distinct(names).map(n => JSON.stringify(n))
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
    begin: `INSERT INTO result (${distinct(names).map(sqlName).join(', ')}) VALUES\n`,
    row: r => `  (${columns.map(c => literal(result, r, c)).join(', ')})`,
    between: ',\n',
    end: ';\n',
  }),
}

const quoted = (text: string, special: RegExp): string =>
  special.test(text) ? `"${text.replaceAll('"', '""')}"` : text

const cell = (text: string): string => text.replace(/([\\|`*_<>&[\]])/g, '\\$1').replace(/\r?\n|\r/g, '<br>')

/** distinct numbers names that are equal, as objects and tables cannot have two: a, a_1. */
export function distinct(names: string[]): string[] {
  const used = new Set(names)
  const seen = new Set<string>()
  return names.map(name => {
    if (!seen.has(name)) return (seen.add(name), name)
    let n = 1
    while (used.has(`${name}_${n}`)) n++
    used.add(`${name}_${n}`)
    return `${name}_${n}`
  })
}

function literal(result: ResultData, row: number, column: number): string {
  const text = result.text(row, column)
  if (text === null) return 'NULL'
  const { kind, type } = result.columns[column]!
  if (kind === 'bool') return text
  if (kind === 'number') return /^-?[\d.]+(e[+-]\d+)?$/.test(text) ? text : `${sqlText(text)}::${type}`
  if (kind === 'text' && type === 'VARCHAR') return sqlText(text)
  if (kind === 'nested') return `${sqlText(text)}::JSON`
  return `${sqlText(text)}::${type === 'ENUM' ? 'VARCHAR' : type}`
}
