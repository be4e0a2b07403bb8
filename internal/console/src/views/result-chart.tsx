// A result as a chart. It takes the result and its settings by props; Observable Plot is loaded with the
// first chart.
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Data, PlotOptions, ProjectionOptions, ScaleOptions } from '@observablehq/plot'
import type { ResultData } from '../lib/result.ts'
import { type Chart, type Point, type Settings, charts, dataOf, roles, usable } from '../lib/chart.ts'
import { count } from '../lib/format.ts'
import { shown } from '../lib/text.ts'
import { Plot } from '../ui/plot.tsx'

interface Props {
  result: ResultData
  /** The chart is drawn again when it changes. */
  version: number
  settings: Settings
  onChange: (settings: Settings) => void
  /** Fetches the coastlines for maps, which are large; without it, maps have only their points. */
  coastlines?: () => Promise<Data>
}

const tableRows = 200 // points that the table has

export function ResultChart({ result, version, settings, onChange, coastlines }: Props) {
  const data = useMemo(
    () => dataOf(result, settings),
    [result, version, settings.chart, settings.x, settings.y, settings.color],
  )
  const [land, setLand] = useState<Data | undefined>()
  useEffect(() => {
    if (settings.chart !== 'map' || land) return
    void coastlines?.().then(setLand)
  }, [settings.chart])
  const name = (c: number) => shown(result.columns[c]?.name ?? '', 40) || 'rows'
  const title = `${charts[settings.chart]}: ${[settings.x, settings.y, settings.color]
    .filter(c => c >= 0)
    .map(name)
    .join(', ')}`
  const choice = (role: 'x' | 'y' | 'color') => {
    const r = roles[settings.chart][role]
    if (!r) return null
    return (
      <label class="field" key={role}>
        {r.title}
        <select
          value={String(settings[role])}
          onChange={e => onChange({ ...settings, [role]: Number(e.currentTarget.value) })}
        >
          {r.optional && <option value="-1">{r.optional}</option>}
          {result.columns.map(
            (c, i) =>
              r.kinds.includes(c.kind) && (
                <option key={i} value={i}>
                  {shown(c.name, 60) || '(no name)'}
                </option>
              ),
          )}
        </select>
      </label>
    )
  }
  return (
    <div class="stack">
      <div class="row chart-settings">
        <label class="field">
          Chart
          <select
            value={settings.chart}
            onChange={e => onChange(usable(result, { ...settings, chart: e.currentTarget.value as Chart }))}
          >
            {Object.entries(charts).map(([id, text]) => (
              <option key={id} value={id}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {(['x', 'y', 'color'] as const).map(choice)}
      </div>
      {data.missing ? (
        <p class="empty">{data.missing}</p>
      ) : data.points.length === 0 ? (
        <p class="empty">No row has a value for each of these columns.</p>
      ) : (
        <>
          <Plot
            label={title}
            deps={[data, land]}
            options={(plot, width) => optionsOf(plot, width, settings, data, name, land)}
          />
          {settings.chart === 'heat' && (
            <p class="soft small">
              The stronger the colour, the{' '}
              {settings.color >= 0 ? `higher the mean of ${name(settings.color)}` : 'more rows'}.
            </p>
          )}
          {data.notes.map(n => (
            <p key={n} class="soft small">
              {n}
            </p>
          ))}
          <details>
            <summary>The chart as a table</summary>
            <div class="table" tabIndex={0} role="region" aria-label="Values of the chart">
              <table>
                <thead>
                  <tr>
                    {data.titles.map(t => (
                      <th key={t} scope="col">
                        <span>{t}</span>
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.points.slice(0, tableRows).map((p, i) => (
                    <tr key={i}>
                      {data.row(p).map((v, k) => (
                        <td key={k} class={typeof v === 'number' ? 'right' : ''}>
                          {v instanceof Date ? v.toISOString() : typeof v === 'number' ? String(v) : shown(v, 60)}
                        </td>
                      ))}
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
            {data.points.length > tableRows && (
              <p class="soft small">{count(data.points.length - tableRows)} more points are not in the table.</p>
            )}
          </details>
        </>
      )}
    </div>
  )
}

type Api = typeof import('../ui/plotmarks.ts')
type Drawn = ReturnType<typeof dataOf>

function optionsOf(
  plot: Api,
  width: number,
  s: Settings,
  data: Drawn,
  name: (column: number) => string,
  land: Data | undefined,
): PlotOptions {
  const points = data.points
  const series = s.color >= 0
  const color = series ? { stroke: 'color' } : { stroke: 'var(--accent)' }
  const fill = series ? { fill: 'color' } : { fill: 'var(--accent)' }
  const common: PlotOptions = {
    height: Math.max(280, Math.min(460, width * 0.5)),
    grid: true,
    x: { label: name(s.x), ...axis(points[0]?.x) },
    y: { label: s.y >= 0 ? name(s.y) : 'rows', ...axis(points[0]?.y) },
    ...(series ? { color: { legend: true, label: name(s.color) } } : {}),
  }
  switch (s.chart) {
    case 'bar':
      // Long names need a line each; few bars stand upright.
      return {
        ...common,
        height: Math.max(160, points.length * 22 + 60),
        marginLeft: Math.min(max(points.map(p => String(p.x).length)) * 7 + 24, 200, width * 0.4),
        x: { label: s.y >= 0 ? `sum of ${name(s.y)}` : 'rows', ...axis(0) },
        y: {
          label: name(s.x),
          type: 'band',
          domain: points.map(p => p.x),
          tickFormat: (t: unknown) => shown(String(t), 26),
        },
        marks: [plot.barX(points, { x: 'y', y: 'x', ...fill }), plot.ruleX([0])],
      }
    case 'line':
      return {
        ...common,
        x: { label: name(s.x), ...axis(points[0]?.x, 'point') },
        marks: [plot.lineY(points, { x: 'x', y: 'y', ...color, strokeWidth: 1.6 })],
      }
    case 'scatter':
      return { ...common, marks: [plot.dot(points, { x: 'x', y: 'y', ...fill, r: 2.6, fillOpacity: 0.7 })] }
    case 'histogram':
      return {
        ...common,
        y: { label: 'rows', ...axis(0) },
        marks: [plot.rectY(points, plot.binX({ y: 'count' }, { x: 'x', ...fill })), plot.ruleY([0])],
      }
    case 'heat': {
      const reduce = { fillOpacity: series ? 'mean' : 'count' } as const
      const channels = { x: 'x', y: 'y', fill: 'var(--accent)', ...(series ? { fillOpacity: 'color' } : {}) }
      return {
        ...common,
        grid: false,
        marginLeft: 70,
        y: { label: name(s.y), ...axis(points[0]?.y) },
        color: {},
        opacity: { range: [0.06, 1] },
        marks: [heat(plot, points, data.continuous, reduce, channels)],
      }
    }
    case 'map': {
      const coordinates = points.map(p => [p.x as number, p.y as number])
      const xs = coordinates.map(c => c[0]!)
      const wide = max(xs) + max(xs.map(x => -x)) > 120
      return {
        height: Math.min(560, width * 0.52),
        ...(series ? { color: { legend: true, label: name(s.color) } } : {}),
        projection: {
          type: wide ? 'equal-earth' : 'mercator',
          domain: wide ? { type: 'Sphere' } : { type: 'MultiPoint', coordinates },
          inset: wide ? 2 : 30,
        } as ProjectionOptions,
        marks: [
          ...(land ? [plot.geo(land, { fill: 'var(--sunken)', stroke: 'var(--edge)', strokeWidth: 0.6 })] : []),
          plot.frame({ stroke: 'var(--line)' }),
          plot.dot(points, { x: 'x', y: 'y', ...fill, r: 3.2, fillOpacity: 0.8 }),
        ],
      }
    }
  }
}

/** heat is the mark of a heat map: intervals along an axis that is continuous, values along one that is not. */
function heat(
  plot: Api,
  points: Point[],
  { x, y }: Drawn['continuous'],
  reduce: { fillOpacity: 'mean' | 'count' },
  channels: { x: string; y: string; fill: string; fillOpacity?: string },
) {
  if (x && y) return plot.rect(points, plot.bin(reduce, channels))
  if (x) return plot.barX(points, plot.binX(reduce, channels))
  if (y) return plot.barY(points, plot.binY(reduce, channels))
  return plot.cell(points, plot.group(reduce, channels))
}

/** The scale of an axis, by its values: texts that look like numbers stay texts. */
function axis(
  value: unknown,
  ofText: 'band' | 'point' = 'band',
): ScaleOptions & { tickFormat?: (v: unknown) => string } {
  if (value instanceof Date) return { type: 'utc' }
  if (typeof value === 'number') return { type: 'linear', tickFormat: (v: unknown) => tick(v as number) }
  return { type: ofText, tickFormat: (v: unknown) => shown(String(v), 24) }
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })
const tick = (v: number): string => (Math.abs(v) >= 10_000 ? compact.format(v) : String(Number(v.toPrecision(10))))

const max = (list: number[]): number => list.reduce((a, b) => (b > a ? b : a), -Infinity)
