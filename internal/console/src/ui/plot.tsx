// A chart by Observable Plot, which is loaded with the first chart. Its table is what screen readers
// and the keyboard get.
import type { PlotOptions } from '@observablehq/plot'
import { useEffect, useRef, useState } from 'preact/hooks'

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
    if (!loaded)
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
      figure = plot.plot({ className: 'plot', ariaLabel: label, width, ...options(plot, width) })
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
