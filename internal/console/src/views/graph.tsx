// A graph with directed edges, from the left to the right: lineage. Positions come from dagre.
import { useEffect, useState } from 'preact/hooks'
import { shown } from '../lib/text.ts'

export interface GraphNode {
  id: string
  kind: string
  name: string
  href?: string
  current?: boolean
}

export interface GraphEdge {
  from: string
  to: string
}

interface Placed {
  nodes: (GraphNode & { x: number; y: number; width: number })[]
  paths: string[]
  width: number
  height: number
}

const nodeHeight = 40
const most = 300 // nodes; a graph with more cannot be read

export function Graph({ label, nodes, edges }: { label: string; nodes: GraphNode[]; edges: GraphEdge[] }) {
  const [placed, setPlaced] = useState<Placed>()
  const some = nodes.slice(0, most)
  const signature = JSON.stringify([some.map(n => n.id), edges])
  useEffect(() => {
    let gone = false
    void place(some, edges).then(p => gone || setPlaced(p))
    return () => {
      gone = true
    }
  }, [signature])
  if (!placed) return <p class="soft">Drawing…</p>
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={label}>
      <svg
        width={placed.width}
        height={placed.height}
        viewBox={`0 0 ${placed.width} ${placed.height}`}
        role="group"
        aria-label={label}
      >
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0L8 4L0 8z" fill="var(--edge)" />
          </marker>
        </defs>
        {placed.paths.map((d, i) => (
          <path key={i} d={d} fill="none" stroke="var(--edge)" marker-end="url(#arrow)" />
        ))}
        {placed.nodes.map(n => {
          const box = (
            <g
              transform={`translate(${n.x - n.width / 2} ${n.y - nodeHeight / 2})`}
              class={`node ${n.current ? 'current' : ''}`}
            >
              <rect width={n.width} height={nodeHeight} rx="6" />
              <text x="10" y="16" class="kind">
                {n.kind + ' '}
              </text>
              <text x="10" y="31">
                {shown(n.name, 34)}
              </text>
            </g>
          )
          return n.href ? (
            <a key={n.id} href={n.href} aria-label={`${n.kind} ${shown(n.name, 80)}`}>
              {box}
            </a>
          ) : (
            <g key={n.id}>{box}</g>
          )
        })}
      </svg>
      {nodes.length > most && <p class="soft">{nodes.length - most} more are not drawn.</p>}
    </div>
  )
}

async function place(nodes: GraphNode[], edges: GraphEdge[]): Promise<Placed> {
  const dagre = await import('@dagrejs/dagre')
  const g = new dagre.graphlib.Graph()
  g.setGraph({ rankdir: 'LR', nodesep: 14, ranksep: 46, marginx: 6, marginy: 6 })
  g.setDefaultEdgeLabel(() => ({}))
  const known = new Set(nodes.map(n => n.id))
  for (const n of nodes) g.setNode(n.id, { width: widthOf(n), height: nodeHeight })
  for (const e of edges) if (known.has(e.from) && known.has(e.to)) g.setEdge(e.from, e.to)
  dagre.layout(g)
  const graph = g.graph() as { width?: number; height?: number }
  return {
    nodes: nodes.map(n => {
      const at = g.node(n.id) as { x: number; y: number }
      return { ...n, x: at.x, y: at.y, width: widthOf(n) }
    }),
    paths: g.edges().map((e: { v: string; w: string }) => curve((g.edge(e) as { points: Point[] }).points)),
    width: Math.ceil(graph.width ?? 100),
    height: Math.ceil(graph.height ?? 60),
  }
}

const widthOf = (n: GraphNode): number => Math.max(90, Math.min(34, n.name.length) * 7.6 + 22)

interface Point {
  x: number
  y: number
}

/** curve draws a smooth line through the points of an edge. */
function curve(points: Point[]): string {
  const [first, ...rest] = points
  if (!first) return ''
  let d = `M${first.x} ${first.y}`
  let before = first
  for (const p of rest) {
    const middle = (before.x + p.x) / 2
    d += `C${middle} ${before.y} ${middle} ${p.y} ${p.x} ${p.y}`
    before = p
  }
  return d
}
