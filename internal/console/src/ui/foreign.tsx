// Texts of others as elements. It has no part of the API, so that views can use it wherever they are
// shown.
import { useState } from 'preact/hooks'
import { shown, visible } from '../lib/text.ts'

/** Foreign shows a text of others in a line. */
export const Foreign = ({ text, max = 300, class: name = '' }: { text: string; max?: number; class?: string }) => (
  <span class={`foreign ${name}`} dir="auto">
    {shown(text, max)}
  </span>
)

const longText = 5_000

/** LongText shows a text of others with its lines: its beginning, and the rest on demand. */
export function LongText({ text, max = longText, wrap = true }: { text: string; max?: number; wrap?: boolean }) {
  const [all, setAll] = useState(false)
  const part = all ? text : text.slice(0, max)
  return (
    <>
      <pre class={`foreign ${wrap ? 'wrap' : ''}`} tabIndex={0} dir="auto">
        {visible(part)}
      </pre>
      {text.length > max && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${text.length} characters`}
        </button>
      )}
    </>
  )
}

export const Json = ({ value, max }: { value: unknown; max?: number }) => (
  <LongText text={JSON.stringify(value, null, 2) ?? 'null'} {...(max ? { max } : {})} />
)
