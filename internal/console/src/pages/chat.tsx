// Chat with any model or agent of the runtime.
import { useLayoutEffect, useRef } from 'preact/hooks'
import { api } from '../lib/api.ts'
import type { Model } from '../lib/chat.ts'
import { clear, requestOf, running, turns, unstored, versionOf } from '../lib/chatstore.ts'
import { useLoad } from '../lib/load.ts'
import { param, setParams } from '../lib/route.ts'
import { shown } from '../lib/text.ts'
import { Twice, Empty, Equivalent, Failure, requestSnippets } from '../ui/parts.tsx'
import './chat.css'
import { TurnView } from './chatanswer.tsx'
import { Composer } from './chatcomposer.tsx'
import { ModelNote } from './chatmodel.tsx'
import { SettingsPanel, readSettings } from './chatsettings.tsx'

export default function Chat() {
  const models = useLoad(
    signal => api<{ data: Model[] }>('/v1/models?status=true', { signal }).then(list => list.data),
    [],
    ['generation'],
  )
  const list = models.data ?? []
  const wanted = param('model')
  const model = list.find(m => m.id === wanted) ?? (wanted ? undefined : preferred(list))
  const settings = readSettings()
  useFollow()
  const request = () => requestOf(model?.id ?? wanted, turns.value, param('q') || 'Your message', settings.value)
  return (
    <>
      <div class="head">
        <h1 class="grow">Chat</h1>
        <label class="row">
          Model
          <select value={model?.id ?? wanted} onChange={e => setParams({ model: e.currentTarget.value })}>
            {!model && wanted && <option value={wanted}>{shown(wanted, 60)}</option>}
            <Options title="Agents" list={list.filter(isAgent)} />
            <Options title="Models" list={list.filter(m => !isAgent(m))} />
          </select>
        </label>
        <Equivalent make={() => requestSnippets({ method: 'POST', path: '/v1/chat/completions', body: request() })} />
        <button type="button" disabled={turns.value.length === 0} onClick={exportConversation}>
          Export
        </button>
        <Twice label="Clear" disabled={turns.value.length === 0} act={clear} />
      </div>
      <Failure error={models.error} again={models.reload} />
      {models.data && !model && (
        <p class="note warn">
          {wanted ? (
            <span>
              There is no model or agent <code class="foreign">{shown(wanted, 100)}</code>. Choose another one.
            </span>
          ) : (
            <span>
              The Spicepod has no models. An entry of <code>models:</code> adds one: <code>from: scripted:guide</code>{' '}
              needs no key.
            </span>
          )}
        </p>
      )}
      {model && <ModelNote model={model} failed={list.filter(m => m.error)} />}
      <SettingsPanel settings={settings} />
      <div class="conversation">
        {turns.value.map((turn, at) => (
          <TurnView key={turn.id} turn={turn} at={at} model={model} settings={settings.value} />
        ))}
        {turns.value.length === 0 && model && (
          <Empty>Write a message to begin. The conversation stays in this tab.</Empty>
        )}
      </div>
      {unstored.value && (
        <p class="note warn" role="status">
          {unstored.value}
        </p>
      )}
      <Composer model={model} settings={settings} />
    </>
  )
}

const isAgent = (m: Model) => m.owned_by.startsWith('agent:')

/** preferred is the model that a person would choose: an agent that delegates is more than its model. */
const preferred = (list: Model[]): Model | undefined =>
  list.find(m => m.tools?.advertised?.includes('delegate') && !m.error) ?? list.find(m => !m.error) ?? list[0]

function Options({ title, list }: { title: string; list: Model[] }) {
  if (list.length === 0) return null
  return (
    <optgroup label={title}>
      {list.map(m => (
        <option key={m.id} value={m.id}>
          {shown(m.id, 60)}
          {m.error ? ' (not loaded)' : ''}
        </option>
      ))}
    </optgroup>
  )
}

function exportConversation() {
  const text = JSON.stringify({ format: 'spiced-chat', turns: turns.value }, null, 2)
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  const a = document.createElement('a')
  a.href = url
  a.download = 'spiced-chat.json'
  a.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

const nearEnd = 4 // pixels

/**
 * useFollow keeps the end of the page in view while an answer grows, unless the reader has scrolled up:
 * one step up is enough, and going down to the end follows again.
 */
function useFollow() {
  const follows = useRef(true)
  const before = useRef(0)
  useLayoutEffect(() => {
    const onScroll = () => {
      const left = document.documentElement.scrollHeight - innerHeight - scrollY
      if (left <= nearEnd) follows.current = true
      else if (scrollY < before.current) follows.current = false
      before.current = scrollY
    }
    addEventListener('scroll', onScroll, { passive: true })
    return () => removeEventListener('scroll', onScroll)
  }, [])
  const turn = running.value?.turn
  const asked = useRef('')
  useLayoutEffect(() => {
    if (!turn) return
    if (asked.current !== turn.id) follows.current = true // who sends looks at the end
    asked.current = turn.id
    return versionOf(turn.answer).subscribe(() =>
      requestAnimationFrame(() => {
        if (follows.current) scrollTo(0, document.documentElement.scrollHeight)
      }),
    )
  }, [turn])
}
