// Lineage: what a function, dataset or view is made of, and what is made of it: data, views, functions,
// their tools, agents.
import { useMemo } from 'preact/hooks'
import { api, rows } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Equivalent, Failure } from '../ui/parts.tsx'
import { Graph, type GraphEdge, type GraphNode } from '../views/graph.tsx'

interface Edge {
  from_kind: string
  from_name: string
  to_kind: string
  to_name: string
}

interface Agent {
  name: string
  tools?: { advertised?: string[] | null }
}

/** A view is data for what reads it, so its kind is that of a dataset. */
const sql = `SELECT DISTINCT depends_on_kind AS from_kind, depends_on AS from_name, 'function' AS to_kind, function AS to_name
FROM spiced.lineage WHERE depends_on_kind <> 'column'
UNION ALL SELECT depends_on_kind, depends_on, 'dataset', view FROM spiced.view_lineage
UNION ALL SELECT 'function', name, 'tool', name FROM spiced.tools WHERE source = 'function'
ORDER BY ALL`

const pages: Record<string, string> = { function: 'functions', dataset: 'data', tool: 'tools' }

/** Lineage draws the part of the graph around a node, such as function:f or dataset:t. */
export function Lineage({ of }: { of: string }) {
  const loaded = useLoad(
    async signal => ({
      edges: await rows<Edge>(sql, [], signal),
      agents: await api<{ agents: Agent[] }>('/v1/agents', { signal }).then(
        x => x.agents,
        () => [], // a process that serves no models has no agents
      ),
    }),
    [of],
    ['generation'],
  )
  const graph = useMemo(() => loaded.data && around(of, loaded.data.edges, loaded.data.agents), [loaded.data, of])
  return (
    <>
      <div class="row">
        <Equivalent make={() => [{ title: 'SQL', text: sql }]} />
        <span class="soft small">An arrow leads from what is used to what uses it.</span>
      </div>
      <Failure error={loaded.error} again={loaded.reload} />
      {graph && <Graph label={`Lineage of ${shown(of.slice(of.indexOf(':') + 1), 80)}`} {...graph} />}
    </>
  )
}

/** around collects the nodes that lead to the one at the start, or come from it. */
function around(start: string, rows: Edge[], agents: Agent[]): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const edges: GraphEdge[] = rows.map(e => ({
    from: `${e.from_kind}:${e.from_name}`,
    to: `${e.to_kind}:${e.to_name}`,
  }))
  for (const a of agents)
    for (const t of a.tools?.advertised ?? []) edges.push({ from: `tool:${t}`, to: `agent:${a.name}` })
  const found = new Set([start])
  const walk = (from: 'from' | 'to', to: 'from' | 'to') => {
    const queue = [start]
    for (let at = queue.pop(); at !== undefined; at = queue.pop())
      for (const e of edges)
        if (e[from] === at && !found.has(e[to])) {
          found.add(e[to])
          queue.push(e[to])
        }
  }
  walk('from', 'to')
  walk('to', 'from')
  const nodes = [...found].map(id => {
    const kind = id.slice(0, id.indexOf(':'))
    const name = id.slice(kind.length + 1)
    const page = pages[kind]
    const node: GraphNode = { id, kind, name, current: id === start }
    if (page) node.href = href([page, name])
    else if (kind === 'agent') node.href = href(['chat'], { model: name })
    return node
  })
  return { nodes, edges: edges.filter(e => found.has(e.from) && found.has(e.to)) }
}
