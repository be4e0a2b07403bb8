// A result as a chart. It takes the result and its settings by props; Observable Plot is loaded with the
// first chart.
import { useEffect, useState } from 'preact/hooks'
import type { Data, PlotOptions, ProjectionOptions, ScaleOptions } from '@observablehq/plot'
import type { ResultData } from '../lib/result.ts'
import { type Chart, type Settings, charts, open, roles, scale, usable } from '../lib/chart.ts'
import { type Drawing, type Value, drawing, nameOf } from '../lib/chartdata.ts'
import { count } from '../lib/format.ts'
import { inSteps } from '../lib/steps.ts'
import { shown } from '../lib/text.ts'
import { Plot, tick } from '../ui/plot.tsx'

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
  const data = useDrawing(result, version, settings)
  const [land, setLand] = useState<Data | undefined>()
  useEffect(() => {
    if (settings.chart !== 'map' || land) return
    void coastlines?.().then(setLand)
  }, [settings.chart])
  const title = `${charts[settings.chart]}: ${[settings.x, settings.y, settings.color]
    .filter(c => c >= 0)
    .map(c => nameOf(result, c))
    .join(', ')}`
  const choice = (role: 'x' | 'y' | 'color') => {
    const r = roles[settings.chart][role]
    if (!r) return null
    // A column is on one axis: choosing that of the other one for x changes both.
    const fits = result.columns.flatMap((c, i) =>
      r.kinds.includes(c.kind) && (role !== 'y' || i !== settings.x) ? [i] : [],
    )
    return (
      <label class="field" key={role}>
        {r.title}
        <select
          value={String(settings[role])}
          disabled={fits.length === 0}
          onChange={e => onChange({ ...settings, [role]: Number(e.currentTarget.value) })}
        >
          {r.optional && <option value="-1">{r.optional}</option>}
          {fits.map(i => (
            <option key={i} value={i}>
              {nameOf(result, i)}
            </option>
          ))}
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
            onChange={e => {
              const y = settings.y < 0 ? open : settings.y
              onChange(usable(result, { ...settings, y, chart: e.currentTarget.value as Chart }))
            }}
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
      {!data ? (
        <p class="soft small">Counting…</p>
      ) : data.missing ? (
        <p class="empty">{data.missing}</p>
      ) : data.points.length === 0 ? (
        <p class="empty">No row has a value for each of these columns.</p>
      ) : (
        <>
          <Plot
            label={title}
            deps={[data, land]}
            options={(plot, width) => optionsOf(plot, width, result, settings, data, land)}
          />
          {settings.chart === 'heat' && (
            <p class="soft small">
              The stronger the colour, the {settings.color >= 0 ? `higher the ${data.measure}` : 'more rows'}.
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
                    {data.titles.map((t, i) => (
                      <th key={i} scope="col">
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

/** useDrawing makes the points of a chart, in steps; that of before is shown while more rows arrive. */
function useDrawing(result: ResultData, version: number, s: Settings): Drawing | undefined {
  const id = [s.chart, s.x, s.y, s.color].join()
  const [done, set] = useState<{ result: ResultData; id: string; data: Drawing }>()
  useEffect(() => inSteps(drawing(result, s), data => set({ result, id, data })), [result, version, id])
  return done?.result === result && done.id === id ? done.data : undefined
}

type Api = typeof import('../ui/plotmarks.ts')

function optionsOf(
  plot: Api,
  width: number,
  result: ResultData,
  s: Settings,
  { points, measure }: Drawing,
  land: Data | undefined,
): PlotOptions {
  const of = (column: number) => result.columns[column]
  const kind = (column: number) => of(column)?.kind ?? 'number'
  const continuous = (column: number) => scale.includes(kind(column))
  const label = (column: number) => {
    const text = nameOf(result, column)
    return kind(column) === 'time' && of(column)!.type !== 'DATE' ? `${text} (UTC)` : text
  }
  const series = s.color >= 0
  const color = series
    ? {
        color: {
          legend: true,
          label: label(s.color),
          tickFormat: tick,
          ...(typeof points[0]!.color === 'string' && { type: 'categorical' as const }),
        },
      }
    : {}
  const fill = { fill: series ? 'color' : 'var(--accent)' }
  /** The scale of a column. Texts that look like numbers or times stay texts. */
  const axis = (column: number, ofText: 'band' | 'point' = 'band'): ScaleOptions => ({
    label: label(column),
    type: !continuous(column) ? ofText : kind(column) === 'time' ? 'utc' : 'linear',
  })
  const rows: ScaleOptions = { label: measure, type: 'linear' }
  const common: PlotOptions = {
    height: Math.max(280, Math.min(460, width * 0.5)),
    grid: true,
    // Room for what tick writes: numbers, and times in two lines.
    marginLeft: kind(s.y) === 'time' ? 84 : 60,
    marginBottom: kind(s.x) === 'time' ? 46 : 34,
    x: axis(s.x),
    y: s.y < 0 ? rows : axis(s.y),
  }
  /** Names on the left have a margin that they fit in; the title stands above them. */
  const names = (list: string[]) => {
    const marginLeft = Math.round(Math.min(max(list.map(t => t.length)) * 6.5 + 20, 190, width * 0.4))
    const shorten = (text: string) => shown(text, Math.floor((marginLeft - 20) / 6.5))
    return { marginLeft, shorten, labelAnchor: 'top' as const }
  }
  /** Of texts below a chart, as many are written as have room. */
  const thin = (domain: string[]): ScaleOptions => {
    const every = Math.ceil((max(domain.map(t => tick(t).length)) * 6.5 + 12) / ((width - 80) / domain.length))
    return { domain, ticks: domain.filter((_, i) => i % every === 0) }
  }
  switch (s.chart) {
    case 'bar': {
      // Bars have a place each, as names can be equal: NULL and the text of it.
      const { marginLeft, shorten, labelAnchor } = names(points.map(p => String(p.x)))
      return {
        ...common,
        height: Math.max(160, points.length * 22 + 50),
        marginLeft,
        marginTop: 40,
        marginBottom: 8,
        x: { ...rows, axis: 'top' }, // many bars are longer than the window
        y: {
          label: label(s.x),
          labelAnchor,
          type: 'band',
          domain: points.map((_, i) => i),
          tickFormat: (i: number) => shorten(String(points[i]!.x)),
        },
        marks: [plot.barX(points, { x: 'y', y: (_: unknown, i: number) => i, ...fill }), plot.ruleX([0])],
      }
    }
    case 'line':
      return {
        ...common,
        ...color,
        x: { ...axis(s.x, 'point'), ...(continuous(s.x) ? {} : thin(texts(points.map(p => p.x)))) },
        marks: [
          plot.lineY(points, {
            x: 'x',
            y: 'y',
            stroke: fill.fill,
            strokeWidth: 1.6,
            ...(points.length <= 100 && { marker: 'dot' as const }), // a line of one point is nothing without it
          }),
        ],
      }
    case 'scatter':
      return { ...common, ...color, marks: [plot.dot(points, { x: 'x', y: 'y', ...fill, r: 2.6, fillOpacity: 0.7 })] }
    case 'histogram':
      return {
        ...common,
        marks: [
          plot.rectY(points, { x1: 'x', x2: 'x2', y: 'y', insetRight: points.length < 20 ? 4 : 1, ...fill }),
          plot.ruleY([0]),
        ],
      }
    case 'heat': {
      const [x, y] = [continuous(s.x), continuous(s.y)]
      const mark = x ? (y ? plot.rect : plot.barX) : y ? plot.barY : plot.cell
      const values = points.map(p => p.color as number)
      const { marginLeft, shorten, labelAnchor } = names(y ? [] : points.map(p => String(p.y)))
      return {
        ...common,
        grid: false,
        ...(!y && { marginLeft }),
        x: { ...common.x, ...(x ? {} : thin(texts(points.map(p => p.x)).sort())) },
        y: { ...common.y, ...(y ? {} : { labelAnchor, tickFormat: shorten }) },
        opacity: { domain: [series ? -max(values.map(v => -v)) : 0, max(values)], range: [0.08, 1] },
        marks: [
          mark(points, {
            ...(x ? { x1: 'x', x2: 'x2' } : { x: 'x' }),
            ...(y ? { y1: 'y', y2: 'y2' } : { y: 'y' }),
            fill: 'var(--accent)',
            fillOpacity: 'color',
          }),
        ],
      }
    }
    case 'map':
      return {
        height: Math.min(560, width * 0.52),
        ...color,
        projection: projection(
          points.map(p => p.x as number),
          points.map(p => p.y as number),
        ),
        marks: [
          ...(land ? [plot.geo(land, { fill: 'var(--sunken)', stroke: 'var(--edge)', strokeWidth: 0.6 })] : []),
          plot.frame({ stroke: 'var(--line)' }),
          plot.dot(points, { x: 'x', y: 'y', ...fill, r: 3.2, fillOpacity: 0.8 }),
        ],
      }
  }
}

/** projection shows the earth or, of points that are near to each other, a part of it, which has some size. */
function projection(xs: number[], ys: number[]): ProjectionOptions {
  const [west, east, south, north] = [-max(xs.map(x => -x)), max(xs), -max(ys.map(y => -y)), max(ys)]
  // Mercator has no place for the poles.
  if (east - west > 120 || Math.max(north, -south) > 75) {
    return { type: 'equal-earth', domain: { type: 'Sphere' }, inset: 2 } as ProjectionOptions
  }
  const around = Math.max(east - west, north - south) < 1e-4 ? 5 : 0 // degrees
  const coordinates = [
    [Math.max(-180, west - around), south - around],
    [Math.min(180, east + around), north + around],
  ]
  return { type: 'mercator', domain: { type: 'MultiPoint', coordinates }, inset: 30 } as ProjectionOptions
}

const texts = (values: Value[]): string[] => [...new Set(values as string[])]

const max = (list: number[]): number => list.reduce((a, b) => (b > a ? b : a), -Infinity)
