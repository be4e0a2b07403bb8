// What can be completed in a statement: tables and columns of the catalogue, functions with their
// signatures, and the words of the language. It is loaded with the editor.
import type { Completion, CompletionContext, CompletionSource } from '@codemirror/autocomplete'
import { type SQLNamespace, keywordCompletionSource, schemaCompletionSource } from '@codemirror/lang-sql'
import { duckdb } from '../ui/languages.ts'
import { rows } from './api.ts'
import { sqlName } from './sqlquote.ts'
import { shown } from './text.ts'

const most = 50_000 // columns and functions that are asked for

/** The tables of the runtime itself; docs/sql.md describes them. */
const own = `agents approvals cross_agent_calls dataset_columns dataset_constraints datasets dead_tools events functions
  generations learned_queries load_errors metrics model_usage models sandboxes search_indexes searches tool_calls
  tool_embeddings tool_usage tools`.split(/\s+/)

const described = own
  .map(
    t =>
      `SELECT 'spiced' AS schema, '${t}' AS dataset, column_name AS name, column_type AS type FROM (DESCRIBE spiced.${t})`,
  )
  .join(' UNION ALL ')

const builtin = `abs any_value arg_max arg_min array_agg avg bool_and bool_or ceil coalesce concat concat_ws contains
  corr count current_date date_diff date_part date_trunc dense_rank epoch epoch_ms exp extract first first_value floor
  format generate_series greatest hash histogram ifnull instr isfinite isnan json_extract json_extract_string lag last
  last_value lcase lead least left length list list_contains list_distinct list_filter list_reduce list_sort
  list_transform ln log lower lpad ltrim make_date max md5 median min mode mod nullif now ntile pi power printf
  quantile_cont random range rank regexp_extract regexp_matches regexp_replace regexp_split_to_array repeat replace
  reverse right round row_number rpad rtrim sha256 sign split_part sqrt starts_with stddev strftime string_agg
  strlen strptime struct_pack substring sum text_search to_json today trim trunc ucase unnest upper uuid variance
  vector_search year`.split(/\s+/)

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
  signature: string
  description: string | null
}

const note = (text: string | null | undefined) => (text ? { info: shown(text, 500) } : {})

/** loadCompletions asks for the catalogue. What fails is left out: completion is a help, no more. */
export async function loadCompletions(signal: AbortSignal): Promise<CompletionSource[]> {
  const [tables, columns, functions, ownColumns] = await Promise.all([
    rows<TableRow>(`SELECT schema, name, kind, description FROM spiced.datasets LIMIT ${most}`, [], signal).catch(
      () => [],
    ),
    rows<ColumnRow>(
      `SELECT schema, dataset, name, type, description FROM spiced.dataset_columns ORDER BY position LIMIT ${most}`,
      [],
      signal,
    ).catch(() => []),
    rows<FunctionRow>(`SELECT name, signature, description FROM spiced.functions LIMIT ${most}`, [], signal).catch(
      () => [],
    ),
    rows<ColumnRow>(described, [], signal).catch(() => []),
  ])
  const schema = namespace(tables, [...columns, ...ownColumns])
  return [
    schemaCompletionSource({ dialect: duckdb, schema, defaultSchema: 'public' }),
    keywordCompletionSource(duckdb, true),
    functionSource(functions),
  ]
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
      own.map(t => [t, { self: { label: t, type: 'type' }, children: byTable.get(tableId('spiced', t)) ?? [] }]),
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

function functionSource(functions: FunctionRow[]): CompletionSource {
  const call = (name: string) => (name === 'current_date' ? name : `${sqlName(name)}(`)
  const declared = functions.map((f): Completion => ({
    label: shown(f.name, 80),
    type: 'function',
    apply: call(f.name),
    boost: 1,
    detail: shown(f.signature.startsWith(f.name) ? f.signature.slice(f.name.length) : f.signature, 120),
    ...note(f.description),
  }))
  const known = new Set(functions.map(f => f.name))
  const options = [
    ...declared,
    ...builtin.filter(n => !known.has(n)).map((n): Completion => ({ label: n, type: 'function', apply: call(n) })),
  ]
  return (context: CompletionContext) => {
    const word = context.matchBefore(/[\w\u0080-\uffff]*/)
    if (!word || (word.from === word.to && !context.explicit)) return null
    if (context.state.sliceDoc(word.from - 1, word.from) === '.') return null
    return { from: word.from, options, validFor: /^[\w\u0080-\uffff]*$/ }
  }
}
