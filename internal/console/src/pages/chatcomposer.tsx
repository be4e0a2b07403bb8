// What the user writes. A link fills it (?q=) and never sends it: a model may call tools that change
// something, so that a person has to press Send.
import { useEffect, useRef } from 'preact/hooks'
import type { Model } from '../lib/chat.ts'
import { draft, running, send, stop, turns } from '../lib/chatstore.ts'
import { param, setParams } from '../lib/route.ts'
import type { Read } from './chatsettings.tsx'

export function Composer({ model, settings }: { model: Model | undefined; settings: Read }) {
  const field = useRef<HTMLTextAreaElement>(null)
  const asked = param('q')
  useEffect(() => {
    if (asked) draft.value = asked
  }, [asked])
  const ready = model && !model.error && Object.keys(settings.faults).length === 0
  const busy = running.value !== undefined
  const said = turns.value.at(-1)
  const act = () => {
    const text = draft.value.trim()
    if (!ready || busy || text === '') return
    send(model.id, text, settings.value)
    draft.value = ''
    setParams({ q: '', model: model.id })
    field.current?.focus()
  }
  const onKeyDown = (e: KeyboardEvent) => {
    // Enter also ends a word that an input method composes
    if (e.key === 'Escape' && busy) void stop()
    if (e.key !== 'Enter' || e.shiftKey || e.isComposing || e.keyCode === 229) return
    e.preventDefault()
    act()
  }
  return (
    <form
      class="composer"
      onSubmit={e => {
        e.preventDefault()
        act()
      }}
    >
      <label class="visually-hidden" for="chat-message">
        Message
      </label>
      <textarea
        id="chat-message"
        ref={field}
        rows={Math.min(8, Math.max(2, draft.value.split('\n', 9).length))}
        value={draft.value}
        placeholder="Message. Enter sends it, Shift+Enter begins a line."
        onInput={e => (draft.value = e.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <button type="button" class="danger" onClick={() => (void stop(), field.current?.focus())}>
          Stop
        </button>
      ) : (
        <button class="primary" disabled={!ready || draft.value.trim() === ''}>
          Send
        </button>
      )}
      <span class="visually-hidden" role="status">
        {busy ? `${running.value!.turn.model} answers.` : said ? `${said.model} has answered.` : ''}
      </span>
    </form>
  )
}
