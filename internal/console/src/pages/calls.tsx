// Charts of calls: how many over time, and how long they took.
import { millis, time } from '../lib/format.ts'
import { Plot } from '../ui/plot.tsx'

export interface CallPoint {
  at: string
  ms: number
  ok: boolean
}

const bars = 40
const leastSlot = 1500 // ms; the chart has a minute at least

interface Slot {
  from: Date
  to: Date
  ok: number
  failed: number
}

/** slots counts calls in equal parts of the time between the first and the last. */
function slots(calls: CallPoint[]): Slot[] {
  const times = calls.map(c => +time(c.at)!)
  const [first, last] = [Math.min(...times), Math.max(...times)]
  const width = Math.max(leastSlot, Math.ceil((last - first + 1) / bars))
  const list: Slot[] = []
  for (let at = first; at <= last || list.length < bars; at += width)
    list.push({ from: new Date(at), to: new Date(at + width), ok: 0, failed: 0 })
  calls.forEach((c, i) => {
    const slot = list[Math.floor((times[i]! - first) / width)]!
    if (c.ok) slot.ok++
    else slot.failed++
  })
  return list
}

export function CallsOverTime({ calls }: { calls: CallPoint[] }) {
  const list = slots(calls)
  const failed = calls.filter(c => !c.ok).length
  return (
    <Plot
      label={`${calls.length} calls over time, ${failed} failed`}
      deps={[calls]}
      options={plot => ({
        height: 180,
        x: { label: null },
        y: { label: 'calls', grid: true },
        marks: [
          plot.rectY(list, { x1: 'from', x2: 'to', y: 'ok', fill: 'var(--blue)', inset: 0.5 }),
          plot.rectY(list, {
            x1: 'from',
            x2: 'to',
            y1: 'ok',
            y2: (s: Slot) => s.ok + s.failed,
            fill: 'var(--bad)',
            inset: 0.5,
          }),
          plot.ruleY([0]),
        ],
      })}
    />
  )
}

interface Cell {
  from: Date
  to: Date
  low: number
  high: number
  calls: number
}

/** LatencyMap is a heat map: time to the right, latency upwards in powers of two. */
export function LatencyMap({ calls }: { calls: CallPoint[] }) {
  const list = slots(calls)
  const width = +list[0]!.to - +list[0]!.from
  const first = +list[0]!.from
  const cells = new Map<string, Cell>()
  for (const c of calls) {
    const slot = list[Math.floor((+time(c.at)! - first) / width)]!
    const power = Math.floor(Math.log2(Math.max(c.ms, 0.01)))
    const name = `${+slot.from}/${power}`
    const cell = cells.get(name) ?? { from: slot.from, to: slot.to, low: 2 ** power, high: 2 ** (power + 1), calls: 0 }
    cell.calls++
    cells.set(name, cell)
  }
  const slowest = Math.max(...calls.map(c => c.ms))
  return (
    <Plot
      label={`Latency of ${calls.length} calls; the slowest took ${millis(slowest)}`}
      deps={[calls]}
      options={plot => ({
        height: 180,
        marginLeft: 64,
        x: { label: null },
        y: { type: 'log', base: 2, label: null, tickFormat: (ms: number) => millis(ms), ticks: 5 },
        opacity: { domain: [0, Math.max(...[...cells.values()].map(c => c.calls))], range: [0.15, 1] },
        marks: [
          plot.rect([...cells.values()], {
            x1: 'from',
            x2: 'to',
            y1: 'low',
            y2: 'high',
            fill: 'var(--accent)',
            fillOpacity: 'calls',
            title: (c: Cell) => `${c.calls} calls, ${millis(c.low)} to ${millis(c.high)}`,
          }),
        ],
      })}
    />
  )
}
