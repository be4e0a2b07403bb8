// A chart by Observable Plot, which is loaded with the first chart. Its table is what screen readers
// and the keyboard get.
import type { PlotOptions } from '@observablehq/plot'
import { useEffect, useRef, useState } from 'preact/hooks'
import { shown } from '../lib/text.ts'

type PlotApi = typeof import('./plotmarks.ts')

interface Props {
  /** What the chart shows, in words. */
  label: string
  /** Makes the options of Plot; width is that of the place. */
  options: (plot: PlotApi, width: number) => PlotOptions
  /** The chart is drawn again when one of these changes. */
  deps: unknown[]
}

let loaded: PlotApi | undefined

export function Plot({ label, options, deps }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const [plot, setPlot] = useState(loaded)
  const [width, setWidth] = useState(0)
  const [fault, setFault] = useState('')
  useEffect(() => {
    let gone = false
    if (!plot)
      // not of loaded, which can have come since the component was drawn
      void import('./plotmarks.ts').then(p => {
        loaded = p
        if (!gone) setPlot(p)
      })
    const observer = new ResizeObserver(() => setWidth(Math.floor(place.current?.clientWidth ?? 0)))
    observer.observe(place.current!)
    return () => {
      gone = true
      observer.disconnect()
    }
  }, [])
  useEffect(() => {
    if (!plot || !place.current || width === 0) return
    let figure
    try {
      const o = options(plot, width)
      const [x, y] = [
        { tickFormat: tick, ...o.x },
        { tickFormat: tick, ...o.y },
      ]
      figure = plot.plot({ className: 'plot', ariaLabel: label, width, ...o, x, y })
    } catch (e) {
      place.current.replaceChildren()
      return setFault((e as Error).message)
    }
    setFault('')
    // The policy of the page allows no style element; style.css has its rules.
    for (const style of figure.querySelectorAll('style')) style.remove()
    figure.setAttribute('aria-hidden', 'true') // the place has the label; Plot's own are on elements that take none
    place.current.replaceChildren(figure)
  }, [plot, width, ...deps])
  return (
    <>
      <div class="plot-place" ref={place} role="img" aria-label={label} />
      {fault && <p class="note bad">The chart cannot be drawn: {fault}.</p>}
    </>
  )
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 4 })
const [second, minute, day] = [1000, 60_000, 86_400_000]

/** tick writes a value of an axis. Times are UTC, and have the parts by which they differ from their neighbours. */
export function tick(v: unknown, i = 0, all: unknown = [v]): string {
  if (typeof v === 'number') return Math.abs(v) >= 10_000 ? compact.format(v) : String(Number(v.toPrecision(10)))
  if (!(v instanceof Date)) return shown(String(v), 24)
  const times = all as Date[]
  const every = (unit: number) => times.every(t => +t % unit === 0)
  const [date, clock] = v.toISOString().split('T') as [string, string]
  if (every(day)) {
    const months = times.every(t => t.getUTCDate() === 1)
    return date.slice(0, !months ? undefined : times.every(t => t.getUTCMonth() === 0) ? -6 : -3)
  }
  const time = clock.slice(0, every(minute) ? 5 : every(second) ? 8 : 12)
  return times[i - 1]?.toISOString().startsWith(date) ? time : `${time}\n${date}`
}
