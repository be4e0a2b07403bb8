// Loading what a page shows, and loading it again when the runtime reports a change.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { logins } from './api.ts'
import { useEvents } from './events.ts'

export interface Loaded<T> {
  /** The last value; it stays while the next is loaded, and when that fails. */
  data: T | undefined
  error: Error | undefined
  loading: boolean
  reload: () => void
}

const between = 1000 // ms between two loads that events ask for

/**
 * useLoad loads a value when deps change, and again when an event of kinds arrives that matters: once a
 * second at most. A load that is superseded is aborted. A statement is itself work, so what loads with
 * one must not be loaded again for the work of statements.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  deps: unknown[],
  kinds: string[] = [],
  matters: (data: any) => boolean = () => true,
): Loaded<T> {
  const [state, set] = useState<Omit<Loaded<T>, 'reload'>>({ data: undefined, error: undefined, loading: true })
  const running = useRef<AbortController | undefined>(undefined)
  const waits = useRef<number | undefined>(undefined)
  const current = useRef(load)
  current.current = load

  const reload = useCallback(() => {
    running.current?.abort()
    const own = (running.current = new AbortController())
    set(s => ({ ...s, loading: true }))
    current.current(own.signal).then(
      data => own.signal.aborted || set({ data, error: undefined, loading: false }),
      error => own.signal.aborted || set(s => ({ data: s.data, error, loading: false })),
    )
  }, [])

  useEffect(reload, [...deps, logins.value])
  useEffect(() => () => (running.current?.abort(), clearTimeout(waits.current)), [])
  useEvents(kinds, e => {
    if (waits.current !== undefined || (e.kind !== 'reset' && !matters(e.data))) return
    waits.current = window.setTimeout(() => {
      waits.current = undefined
      reload()
    }, between)
  })
  return { ...state, reload }
}
