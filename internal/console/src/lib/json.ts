// JSON whose numbers keep their digits, which JavaScript's numbers would lose: 9007199254740993 is no
// number of theirs. Such a number is a raw one of the language (JSON.rawJSON), where the browser has those.

interface Raw {
  rawJSON: string
}

/** parseExact reads JSON; a number with more digits than a number holds becomes a raw one. */
export function parseExact(text: string): any {
  const { rawJSON } = JSON as unknown as { rawJSON?: (text: string) => Raw }
  return JSON.parse(text, function (this: unknown, _key: string, value: unknown, context?: { source?: string }) {
    const source = context?.source
    if (typeof value !== 'number' || !source || !rawJSON) return value
    return exact(value, source) ? value : rawJSON(source)
  } as (key: string, value: unknown) => unknown)
}

/** exact reports whether a number is written with the digits that it has. */
function exact(value: number, source: string): boolean {
  if (String(value) === source) return true
  return Number.isSafeInteger(value) || source.replace(/[^\d]/g, '').length <= 15
}
