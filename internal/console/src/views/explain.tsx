// A plan as a tree: what each operator took and returned, and the path on which most time is spent.
import { Fragment } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { bytes, count, millis, plural } from '../lib/format.ts'
import { type FunctionCalls, type Plan, type PlanNode, costliest } from '../lib/sqlplan.ts'
import { shown, visible } from '../lib/text.ts'
import './explain.css'

export function Explain({ plan }: { plan: Plan }) {
  const path = useMemo(() => costliest(plan.roots), [plan])
  const measured = plan.seconds !== undefined
  const most = useMemo(() => Math.max(0, ...all(plan.roots).map(n => n.seconds ?? 0)), [plan])
  return (
    <div class="stack">
      {measured && (
        <p class="soft small">
          {millis((plan.seconds ?? 0) * 1000)} in all, {millis((plan.cpu ?? 0) * 1000)} of CPU
          {plan.peakMemory !== undefined && `, ${bytes(plan.peakMemory)} of memory at most`}
          {plan.bytesRead !== undefined && `, ${bytes(plan.bytesRead)} read`}. The times are of each operator alone,
          over all threads.
        </p>
      )}
      {plan.calls.length > 0 && (
        <ul class="plain-list">
          {plan.calls.map(c => (
            <li key={c.function}>
              <code class="foreign">{shown(c.function)}</code> {callsText(c)}
            </li>
          ))}
        </ul>
      )}
      {path.size > 0 && (
        <p class="soft small">
          <b class="costly">Red</b>: the way to where most {measured ? 'time is spent' : 'rows are expected'}.
        </p>
      )}
      <Tree roots={plan.roots} path={path} most={most} />
    </div>
  )
}

interface Line {
  node: PlanNode
  level: number
}

/** The operators that are not folded away, from top to bottom. */
function lines(nodes: PlanNode[], folded: ReadonlySet<PlanNode>, level = 1): Line[] {
  return nodes.flatMap(node => [{ node, level }, ...(folded.has(node) ? [] : lines(node.children, folded, level + 1))])
}

function toggled<T>(set: ReadonlySet<T>, value: T): ReadonlySet<T> {
  const changed = new Set(set)
  if (!changed.delete(value)) changed.add(value)
  return changed
}

/** The tree is a flat list with levels, so that the name of an item is its own text only. */
function Tree({ roots, path, most }: { roots: PlanNode[]; path: Set<PlanNode>; most: number }) {
  const [folded, setFolded] = useState<ReadonlySet<PlanNode>>(new Set())
  const [detailed, setDetailed] = useState<ReadonlySet<PlanNode>>(new Set())
  const list = useMemo(() => lines(roots, folded), [roots, folded])
  const fold = (n: PlanNode) => setFolded(toggled(folded, n))
  return (
    <ul class="plan" role="tree" aria-label="Operators of the plan" onKeyDown={onKeyDown}>
      {list.map(({ node, level }, i) => (
        <li
          key={i}
          role="treeitem"
          aria-level={level}
          aria-expanded={node.children.length > 0 ? !folded.has(node) : undefined}
          aria-selected={detailed.has(node)}
          tabIndex={i === 0 ? 0 : -1}
          class={path.has(node) ? 'costly' : ''}
          style={{ '--level': String(Math.min(level - 1, 24)) }}
        >
          <Operator
            node={node}
            costly={path.has(node)}
            most={most}
            folded={folded.has(node)}
            fold={() => fold(node)}
            show={() => setDetailed(toggled(detailed, node))}
          />
          {detailed.has(node) && (
            <dl class="definition small">
              {node.info.length === 0 && <dt>No details.</dt>}
              {node.info.map(([name, value]) => (
                <Fragment key={name}>
                  <dt>{shown(name, 80)}</dt>
                  <dd class="foreign mono">{visible(value.slice(0, 20_000))}</dd>
                </Fragment>
              ))}
            </dl>
          )}
        </li>
      ))}
    </ul>
  )
}

interface OperatorProps {
  node: PlanNode
  costly: boolean
  most: number
  folded: boolean
  fold: () => void
  show: () => void
}

function Operator({ node, costly, most, folded, fold, show }: OperatorProps) {
  const summary = node.info.find(([, value]) => value !== node.name)
  const off = misestimate(node)
  return (
    <div class="operator" onClick={show}>
      <span class="twist" aria-hidden="true" onClick={e => (e.stopPropagation(), fold())}>
        {node.children.length === 0 ? '·' : folded ? '▸' : '▾'}
      </span>
      <b>{shown(node.name, 80)}</b>
      {costly && <span class="visually-hidden">on the most expensive path</span>}
      <span class="clip soft foreign">{summary && shown(summary[1], 120)}</span>
      <span class="numbers">
        {node.rows !== undefined ? plural(node.rows, 'row') : ''}
        {node.estimated !== undefined && (
          <span class={off ? 'off' : 'soft'}>
            {node.rows === undefined
              ? `~${count(node.estimated)} rows`
              : `, ~${count(node.estimated)} expected${off ? ` (${off})` : ''}`}
          </span>
        )}
      </span>
      {node.seconds !== undefined && (
        <span class="time">
          <span class="bar" style={{ width: `${most > 0 ? (100 * node.seconds) / most : 0}%` }} />
          <span>{millis(node.seconds * 1000)}</span>
        </span>
      )}
    </div>
  )
}

/** The keys of the tree pattern of the ARIA Authoring Practices; Enter shows the details. */
function onKeyDown(e: KeyboardEvent) {
  const tree = e.currentTarget as HTMLElement
  const items = [...tree.querySelectorAll<HTMLElement>('[role=treeitem]')]
  const at = items.indexOf((e.target as HTMLElement).closest<HTMLElement>('[role=treeitem]')!)
  const item = items[at]
  if (!item) return
  const open = item.getAttribute('aria-expanded')
  const focus = (to: HTMLElement | null | undefined) => {
    if (!to) return
    for (const i of items) i.tabIndex = -1
    to.tabIndex = 0
    to.focus()
  }
  const click = (part: string) => item.querySelector<HTMLElement>(part)!.click()
  const level = Number(item.ariaLevel)
  const parent = items.slice(0, at).findLast(i => Number(i.ariaLevel) < level)
  const acts: Record<string, () => void> = {
    ArrowDown: () => focus(items[at + 1]),
    ArrowUp: () => focus(items[at - 1]),
    Home: () => focus(items[0]),
    End: () => focus(items.at(-1)),
    ArrowRight: () => (open === 'false' ? click('.twist') : open === 'true' && focus(items[at + 1])),
    ArrowLeft: () => (open === 'true' ? click('.twist') : focus(parent)),
    Enter: () => click('.operator'),
    ' ': () => click('.operator'),
  }
  const act = acts[e.key]
  if (!act) return
  e.preventDefault()
  act()
}

const all = (nodes: PlanNode[]): PlanNode[] => nodes.flatMap(n => [n, ...all(n.children)])

/** How far the estimate is off, when it is by ten times or more: the usual cause of a slow plan. */
function misestimate(n: PlanNode): string {
  if (n.rows === undefined || n.estimated === undefined) return ''
  const [low, high] = [Math.min(n.rows, n.estimated), Math.max(n.rows, n.estimated)]
  const times = high / Math.max(1, low)
  return times >= 10 && high >= 1000 ? `${count(times)} times ${n.rows > n.estimated ? 'more' : 'fewer'}` : ''
}

function callsText(c: FunctionCalls): string {
  const about =
    c.estimated_calls != null
      ? `about ${count(c.estimated_calls)} calls expected`
      : `no estimate${c.no_estimate ? ': ' + shown(c.no_estimate, 200) : ''}`
  return c.calls === undefined ? about : `${count(c.calls)} calls for ${count(c.rows ?? 0)} rows, ${about}`
}
