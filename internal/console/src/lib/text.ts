// Texts of others: names, descriptions, results, documents. They are always text nodes, never HTML.
// What would deceive the reader is made visible: control characters, marks that change the direction
// of what follows, and characters that have no width.

const deceptive =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu

/** visible writes characters that cannot be seen as \u{…}. */
export const visible = (text: string): string => text.replace(deceptive, c => `\\u{${c.codePointAt(0)!.toString(16)}}`)

/** own is a value of a record by a name that may be anything, such as “constructor”. */
export const own = <T>(record: Record<string, T>, name: string): T | undefined =>
  Object.hasOwn(record, name) ? record[name] : undefined

/** truncate shortens a text to max characters and marks it. */
export const truncate = (text: string, max: number): string => (text.length <= max ? text : text.slice(0, max) + '…')

/** shown is what is displayed of a text in one line of a list. */
export const shown = (text: string, max = 300): string => visible(truncate(text.replace(/\s+/g, ' '), max))
