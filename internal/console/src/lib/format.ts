// How values are written for people.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 })
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

export const count = (n: number | null | undefined): string => (n == null ? '–' : whole.format(n))
export const brief = (n: number | null | undefined): string =>
  n == null ? '–' : n < 10_000 ? whole.format(n) : compact.format(n)

/** 1234567 → "1.18 MiB". */
export function bytes(n: number | null | undefined): string {
  if (n == null) return '–'
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let i = 0
  while (n >= 1024 && i < units.length - 1) [n, i] = [n / 1024, i + 1]
  return `${short.format(n)} ${units[i]}`
}

/** A duration in milliseconds: "0.42 ms", "1.5 s", "2 min 3 s". */
export function millis(ms: number | null | undefined): string {
  if (ms == null) return '–'
  if (ms < 1000) return `${short.format(ms)} ms`
  if (ms < 60_000) return `${short.format(ms / 1000)} s`
  const s = Math.round(ms / 1000)
  return s < 3600
    ? `${Math.floor(s / 60)} min ${s % 60} s`
    : `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`
}

export const percent = (share: number | null | undefined): string =>
  share == null ? '–' : `${short.format(share * 100)} %`

/** A time of the API or of SQL (UTC, with or without its zone) as a Date; null if the text has no time. */
export function time(text: string | number | null | undefined): Date | null {
  if (text == null || text === '') return null
  if (typeof text === 'number') return new Date(text)
  const zoned = /(Z|[+-]\d\d(:?\d\d)?)$/.test(text) ? text : text + 'Z'
  const d = new Date(zoned.replace(' ', 'T'))
  return isNaN(+d) ? null : d
}

/** "3 s ago", "2 h ago", "12 May"; now is for tests. */
export function ago(text: string | number | null | undefined, now = Date.now()): string {
  const d = time(text)
  if (!d) return '–'
  const s = Math.max(0, (now - +d) / 1000)
  if (s < 60) return `${Math.floor(s)} s ago`
  if (s < 3600) return `${Math.floor(s / 60)} min ago`
  if (s < 86_400) return `${Math.floor(s / 3600)} h ago`
  if (s < 30 * 86_400) return `${Math.floor(s / 86_400)} d ago`
  return d.toISOString().slice(0, 10)
}

export function clock(text: string | number | null | undefined): string {
  const d = time(text)
  return d ? d.toLocaleString('sv') : '–'
}

export const plural = (n: number, one: string, many = one + 's'): string => `${count(n)} ${n === 1 ? one : many}`
