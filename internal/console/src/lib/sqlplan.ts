// Plans of statements, as EXPLAIN (FORMAT json) and EXPLAIN (ANALYZE, FORMAT json) of DuckDB give them,
// and the calls of functions that the runtime adds.

export interface PlanNode {
  name: string
  /** Seconds of this operator alone, over all threads. */
  seconds?: number
  /** Rows that it returned. */
  rows?: number
  /** Rows that the optimizer expected. */
  estimated?: number
  info: [name: string, value: string][]
  children: PlanNode[]
}

/** How often a statement calls a function that is not SQL. */
export interface FunctionCalls {
  function: string
  estimated_calls?: number | null
  no_estimate?: string
  rows?: number
  calls?: number
}

export interface Plan {
  roots: PlanNode[]
  /** Set when the statement was run. */
  seconds?: number
  cpu?: number
  bytesRead?: number
  peakMemory?: number
  calls: FunctionCalls[]
}

const most = 5_000 // operators that are read of a plan

export function readPlan(rows: { explain_key: string; explain_value: string }[]): Plan {
  const plan: Plan = { roots: [], calls: [] }
  let left = most
  const read = (node: any): PlanNode => {
    if (--left < 0) throw new Error(`the plan has more than ${most} operators: use EXPLAIN as a statement`)
    const info = Object.entries(node.extra_info ?? {})
      .filter(([name]) => name !== 'Estimated Cardinality')
      .map(([name, value]): [string, string] => [name, Array.isArray(value) ? value.join('\n') : textOf(value)])
    const estimated = Number(node.extra_info?.['Estimated Cardinality'] ?? NaN)
    return {
      name: String(node.operator_name ?? node.name ?? 'operator').trim(),
      ...(node.operator_timing !== undefined ? { seconds: Number(node.operator_timing) } : {}),
      ...(node.operator_cardinality !== undefined ? { rows: Number(node.operator_cardinality) } : {}),
      ...(Number.isFinite(estimated) ? { estimated } : {}),
      info,
      children: (node.children ?? []).map(read),
    }
  }
  for (const { explain_key, explain_value } of rows) {
    const value = JSON.parse(explain_value)
    if (explain_key === 'function_calls') plan.calls = value
    else if (Array.isArray(value)) plan.roots.push(...value.map(read))
    else {
      plan.seconds = value.latency
      plan.cpu = value.cpu_time
      plan.bytesRead = value.total_bytes_read
      plan.peakMemory = value.system_peak_buffer_memory
      // The operator of EXPLAIN itself is not part of the statement.
      for (const child of value.children ?? [])
        plan.roots.push(...(child.operator_type === 'EXPLAIN_ANALYZE' ? child.children : [child]).map(read))
    }
  }
  if (plan.roots.length === 0)
    throw new Error(
      'DuckDB has measured no operator of the statement, as its rows are constants: Explain shows its plan',
    )
  return plan
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The seconds of an operator with all below it. */
export const subtree = (node: PlanNode): number =>
  (node.seconds ?? 0) + node.children.reduce((sum, c) => sum + subtree(c), 0)

/** The path from the root to where most time is spent, or without times, most rows are expected. */
export function costliest(roots: PlanNode[]): Set<PlanNode> {
  const path = new Set<PlanNode>()
  const cost = (n: PlanNode): number =>
    n.seconds !== undefined ? subtree(n) : Math.max(n.estimated ?? 0, ...n.children.map(cost))
  let list = roots
  while (list.length > 0) {
    const next = list.reduce((a, b) => (cost(b) > cost(a) ? b : a))
    if (cost(next) === 0) break
    path.add(next)
    // Below an operator that is dearer than all below it, nothing is.
    if (next.seconds !== undefined && next.seconds > Math.max(0, ...next.children.map(subtree))) break
    list = next.children
  }
  return path
}
