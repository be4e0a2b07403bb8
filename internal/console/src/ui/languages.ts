// The languages that code is highlighted in.
import { SQLDialect } from '@codemirror/lang-sql'
import { yamlLanguage } from '@codemirror/lang-yaml'
import { StreamLanguage, type Language as Parsed } from '@codemirror/language'
import { python } from '@codemirror/legacy-modes/mode/python'
import { classHighlighter, highlightCode } from '@lezer/highlight'
import type { Language } from './code.tsx'

const keywords = `all analyze and anti any array as asc asof between by case cast collate columns cross cube current_date
  current_time current_timestamp desc describe distinct else end escape except exclude exists explain false fetch filter
  first following for format from full glob group grouping having ilike in inner intersect interval into is isnull join
  lambda last lateral left like limit macro map materialized natural not notnull null nulls offset on only or order
  outer over partition percent pivot pivot_longer pivot_wider positional preceding qualify range recursive rename
  repeatable replace respect ignore right rollup row rows sample select semi sets show similar some struct summarize
  table tablesample then ties to true try_cast unbounded union unique unnest unpivot using values view when where
  window with within without zone`
const types = `bigint bignum bit bitstring blob bool boolean bytea char date datetime dec decimal double enum float float4
  float8 geometry hugeint int int1 int2 int4 int8 int16 int32 int64 int128 integer interval json list logical long
  map numeric real short signed smallint string struct text time timestamp timestamptz timestamp_ns timestamp_ms
  timestamp_s timetz tinyint ubigint uhugeint uinteger union usmallint utinyint uuid varbinary varchar variant`

/** duckdb is the dialect of the statements that the runtime runs. */
export const duckdb = SQLDialect.define({
  keywords: keywords.replace(/\s+/g, ' '),
  types: types.replace(/\s+/g, ' '),
  doubleDollarQuotedStrings: true,
  operatorChars: '+-*/<>=~!@#%^&|`?',
  specialVar: '$',
  charSetCasts: false,
  identifierQuotes: '"',
  caseInsensitiveIdentifiers: true,
})

const languages: Record<Language, Parsed> = {
  sql: duckdb.language,
  yaml: yamlLanguage,
  json: yamlLanguage, // YAML contains JSON
  python: StreamLanguage.define(python),
}

export const languageOf = (name: Language): Parsed => languages[name]

/** highlighted cuts a text into parts with the classes of their syntax; '' is plain text. */
export function highlighted(name: Language, text: string): [string, string][] {
  const parts: [string, string][] = []
  const tree = languages[name].parser.parse(text)
  highlightCode(
    text,
    tree,
    classHighlighter,
    (part, classes) => parts.push([part, classes]),
    () => parts.push(['\n', '']),
  )
  return parts
}
