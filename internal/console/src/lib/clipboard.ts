// Writing to the clipboard.

/**
 * writeClipboard copies a text. Browsers have the clipboard's API over https and on loopback only; elsewhere the
 * text is selected and copied as the user would.
 */
export async function writeClipboard(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const before = document.activeElement as HTMLElement | null
  const field = document.createElement('textarea')
  field.value = text
  field.readOnly = true
  field.className = 'visually-hidden'
  ;(before?.closest('dialog') ?? document.body).append(field)
  field.select()
  const copied = document.execCommand('copy')
  field.remove()
  before?.focus()
  if (!copied) throw new Error('The browser does not let this page write to the clipboard.')
}
