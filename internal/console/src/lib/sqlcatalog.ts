// What can be completed in a statement: tables and columns of the catalogue, functions with their
// signatures, and the words of the language. It is loaded with the editor.
import { type Completion, type CompletionContext, type CompletionSource, ifNotIn } from '@codemirror/autocomplete'
import { type SQLNamespace, keywordCompletionSource, schemaCompletionSource } from '@codemirror/lang-sql'
import { duckdb } from '../ui/languages.ts'
import { rows } from './api.ts'
import { sqlName } from './sqlquote.ts'
import type { Parameter } from './sqlrun.ts'
import { own, shown } from './text.ts'

const most = 50_000 // columns and functions that are asked for

/** The tables of the runtime itself; docs/sql.md describes them. */
const ownTables =
  `agents approvals cross_agent_calls dataset_columns dataset_constraints datasets dead_tools events functions
  generations learned_queries load_errors metrics model_usage models sandboxes search_indexes searches tool_calls
  tool_embeddings tool_usage tools view_lineage`.split(/\s+/)

const described = ownTables
  .map(
    t =>
      `SELECT 'spiced' AS schema, '${t}' AS dataset, column_name AS name, column_type AS type FROM (DESCRIBE spiced.${t})`,
  )
  .join(' UNION ALL ')

const builtinTables = ['generate_series', 'range', 'text_search', 'unnest', 'vector_search']

const builtin = `abs any_value arg_max arg_min array_agg avg bool_and bool_or ceil coalesce concat concat_ws contains
  corr count current_date date_diff date_part date_trunc dense_rank epoch epoch_ms exp extract first first_value floor
  format greatest hash histogram ifnull instr isfinite isnan json_extract json_extract_string lag last
  last_value lcase lead least left length list list_contains list_distinct list_filter list_reduce list_sort
  list_transform ln log lower lpad ltrim make_date max md5 median min mode mod nullif now ntile pi power printf
  quantile_cont random rank regexp_extract regexp_matches regexp_replace regexp_split_to_array repeat replace
  reverse right round row_number rpad rtrim sha256 sign split_part sqrt starts_with stddev strftime string_agg
  strlen strptime struct_pack substring sum to_json today trim trunc ucase unnest upper uuid variance year`.split(/\s+/)

interface ColumnRow {
  schema: string
  dataset: string
  name: string
  type: string
  description?: string | null
}
interface TableRow {
  schema: string
  name: string
  kind: string
  description: string | null
}
interface FunctionRow {
  name: string
  kind: string
  arg_names: string[] | null
  arg_types: string[] | null
  signature: string
  description: string | null
}

const note = (text: string | null | undefined) => (text ? { info: shown(text, 500) } : {})

export interface Catalog {
  completions: CompletionSource[]
  /** The arguments of the functions of the Spicepod: how a parameter of that name is read. */
  types: Map<string, Record<string, Parameter['type']>>
}

/** loadCatalog asks for the catalogue. What fails is left out: completion is a help, no more. */
export async function loadCatalog(signal: AbortSignal): Promise<Catalog> {
  const [tables, columns, functions, ownColumns] = await Promise.all([
    rows<TableRow>(`SELECT schema, name, kind, description FROM spiced.datasets LIMIT ${most}`, [], signal).catch(
      () => [],
    ),
    rows<ColumnRow>(
      `SELECT schema, dataset, name, type, description FROM spiced.dataset_columns ORDER BY position LIMIT ${most}`,
      [],
      signal,
    ).catch(() => []),
    rows<FunctionRow>(
      `SELECT name, kind, arg_names, arg_types, signature, description FROM spiced.functions LIMIT ${most}`,
      [],
      signal,
    ).catch(() => []),
    rows<ColumnRow>(described, [], signal).catch(() => []),
  ])
  const schema = namespace(tables, [...columns, ...ownColumns])
  const names = schemaCompletionSource({ dialect: duckdb, schema, defaultSchema: 'public' })
  const inTables = source(tableOptions(tables, functions))
  const elsewhere = [names, keywordCompletionSource(duckdb, true), source(functionOptions(functions))]
  const code = (s: CompletionSource) => ifNotIn(['String', 'LineComment', 'BlockComment'], s)
  return {
    completions: [
      // Names in quotes and behind a dot are what the schema says, wherever they stand.
      code(c => {
        const place = tablePlace(c)
        return place && (place[1] || place[2]?.startsWith('"') ? names(c) : inTables(c))
      }),
      ...elsewhere.map(s => code(c => (tablePlace(c) ? null : s(c)))),
    ],
    types: new Map(functions.map(f => [f.name.toLowerCase(), argumentTypes(f)])),
  }
}

const tableId = (schema: string, table: string): string => JSON.stringify([schema, table])

function namespace(tables: TableRow[], columns: ColumnRow[]): SQLNamespace {
  const byTable = new Map<string, Completion[]>()
  for (const c of columns) {
    const id = tableId(c.schema, c.dataset)
    const list = byTable.get(id) ?? []
    list.push({ ...labelled(c.name), type: 'property', detail: shown(c.type, 60), ...note(c.description) })
    byTable.set(id, list)
  }
  const schemas: Record<string, Record<string, SQLNamespace>> = {
    spiced: Object.fromEntries(
      ownTables.map(t => [t, { self: { label: t, type: 'type' }, children: byTable.get(tableId('spiced', t)) ?? [] }]),
    ),
  }
  for (const t of tables) {
    const schema = (schemas[t.schema] ??= {})
    schema[t.name] = {
      self: { ...labelled(t.name), type: 'type', detail: t.kind, ...note(t.description) },
      children: byTable.get(tableId(t.schema, t.name)) ?? [],
    }
  }
  return schemas
}

/** A name that needs quotes is inserted with them, and found without. */
function labelled(name: string): Completion {
  const quoted = sqlName(name)
  return quoted === name ? { label: name } : { label: shown(name, 80), apply: quoted }
}

const call = (name: string) => (name === 'current_date' ? name : `${sqlName(name)}(`)
const plain = (name: string): Completion => ({ label: name, type: 'function', apply: call(name) })
const declared = (f: FunctionRow): Completion => ({
  label: shown(f.name, 80),
  type: 'function',
  apply: call(f.name),
  boost: 1,
  detail: shown(f.signature.startsWith(f.name) ? f.signature.slice(f.name.length) : f.signature, 120),
  ...note(f.description),
})

function functionOptions(functions: FunctionRow[]): Completion[] {
  const known = new Set(functions.map(f => f.name))
  return [...functions.filter(f => f.kind !== 'table').map(declared), ...builtin.filter(n => !known.has(n)).map(plain)]
}

/** What can stand behind FROM: tables first, then schemas, then functions that return tables. */
function tableOptions(tables: TableRow[], functions: FunctionRow[]): Completion[] {
  const schemas = new Set(['spiced', ...tables.map(t => t.schema)])
  schemas.delete('public')
  return [
    ...tables
      .filter(t => t.schema === 'public')
      .map(t => ({ ...labelled(t.name), type: 'type', detail: t.kind, boost: 60, ...note(t.description) })),
    ...[...schemas].map(name => ({ ...labelled(name), type: 'namespace', detail: 'schema', boost: 40 })),
    ...functions.filter(f => f.kind === 'table').map(f => ({ ...declared(f), boost: 20 })),
    ...builtinTables.map(plain),
  ]
}

const before = 1000 // characters before the cursor that tell what stands there
const behindFrom =
  /\b(?:from|join|into|update)\s+(?:(?:"[^"]*"|[\w.\u0080-\uffff])+(?:\s+(?:as\s+)?\w+)?\s*,\s*)*((?:(?:"[^"]*"|[\w\u0080-\uffff]+)\.)*)("[^"]*|[\w\u0080-\uffff]*)$/i

/**
 * tablePlace matches where a table can stand: behind FROM or JOIN, and behind a comma of a list of tables.
 * It has what stands before the last dot, and what behind it.
 */
const tablePlace = (c: CompletionContext) => behindFrom.exec(c.state.sliceDoc(Math.max(0, c.pos - before), c.pos))

function source(options: Completion[]): CompletionSource {
  return context => {
    const word = context.matchBefore(/[\w\u0080-\uffff]*/)
    if (!word || (word.from === word.to && !context.explicit)) return null
    if (context.state.sliceDoc(word.from - 1, word.from) === '.') return null
    return { from: word.from, options, validFor: /^[\w\u0080-\uffff]*$/ }
  }
}

/** How a parameter is read that has the name of an argument; texts are the default. */
function argumentTypes(f: FunctionRow): Record<string, Parameter['type']> {
  const types: Record<string, Parameter['type']> = Object.create(null)
  for (const [i, name] of (f.arg_names ?? []).entries()) {
    const type = f.arg_types?.[i] ?? ''
    if (/^(u?int|float|double|decimal)/.test(type)) types[name.toLowerCase()] = 'number'
    else if (/^bool/.test(type)) types[name.toLowerCase()] = 'boolean'
    else if (/^(list|struct|map)|\[/.test(type)) types[name.toLowerCase()] = 'json'
  }
  return types
}

/** typeOf is how a parameter of a text is read: as the argument of its name, of a function that is called. */
export function typeOf(types: Catalog['types'], text: string, parameter: string): Parameter['type'] {
  for (const [, name] of text.matchAll(/([\w\u0080-\uffff]+)\s*\(/g)) {
    const type = own(types.get(name!.toLowerCase()) ?? {}, parameter.toLowerCase())
    if (type) return type
  }
  return 'text'
}
