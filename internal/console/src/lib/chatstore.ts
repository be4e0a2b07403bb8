// The conversation of this tab. It lives as long as the tab, so that an answer goes on while another
// page of the console is looked at, and a reload shows what was said. It belongs to the key that it
// was held with: when that is replaced, the conversation is forgotten.
import { signal, type Signal } from '@preact/signals'
import type { Lane } from '../views/timeline.tsx'
import { ApiError, key } from './api.ts'
import {
  cancelRequest,
  chat,
  newId,
  type ChatMessage,
  type ChatRequest,
  type Piece,
  type ToolEvent,
  type Usage,
} from './chat.ts'
import { Steps } from './chatsteps.ts'

export interface AnswerFault {
  code: string
  message: string
  hint: string
  status: number
}

/** A call that waits for a person, as the event says it. */
export interface Asked {
  id: string
  tool: string
  arguments: unknown
  expires_at: string
  may_decide: boolean
  agent?: string
}

export type AnswerState = 'running' | 'done' | 'stopped' | 'failed'

export interface Answer {
  id: string // of the request
  state: AnswerState
  text: string
  thinking: string
  refusal: string
  began: number // ms since 1970
  took: number // ms, once it has ended
  first?: number // ms until the first text
  lane: Lane
  dropped: number // calls that are not in lane
  unknown: string[] // types of events that this page does not know
  asked: Asked[]
  ignored: string[] // fields without effect at the provider
  reason?: string
  usage?: Usage
  fault?: AnswerFault
}

export interface Turn {
  id: string
  model: string
  text: string
  answer: Answer
}

/** Settings of requests, as they are sent. */
export type Settings = Record<string, unknown> & { system?: string }

const maxTurns = 200
const maxStored = 3 << 20 // characters in sessionStorage
const maxAsked = 100 // approvals of an answer
const name = 'spiced.chat'
const version = 1 // of what is stored; another one is not read

export const turns = signal<Turn[]>(restore())
export const draft = signal('')

let leaving = false // the page

/** What is not kept over a reload; empty if all is. */
export const unstored = signal('')

interface Running {
  turn: Turn
  abort: AbortController
}

/** The request that runs. */
export const running = signal<Running | undefined>(undefined)

const versions = new WeakMap<Answer, Signal<number>>()

/** versionOf changes with the answer, once a frame at most: it is written in place. */
export function versionOf(answer: Answer): Signal<number> {
  let v = versions.get(answer)
  if (!v) versions.set(answer, (v = signal(0)))
  return v
}

const scheduled = new WeakSet<Answer>()

/** changed has the answer shown again in the next frame. */
export function changed(answer: Answer) {
  if (scheduled.has(answer)) return
  scheduled.add(answer)
  requestAnimationFrame(() => {
    scheduled.delete(answer)
    versionOf(answer).value++
  })
}

/** messagesOf is the conversation as it is sent. Turns without an answer are left out. */
export function messagesOf(list: Turn[], system?: string): ChatMessage[] {
  const messages: ChatMessage[] = system ? [{ role: 'system', content: system }] : []
  for (const t of list) {
    if (!counts(t)) continue
    messages.push({ role: 'user', content: t.text }, { role: 'assistant', content: t.answer.text })
  }
  return messages
}

/** counts reports whether a turn is part of further requests. */
export const counts = (t: Turn): boolean => t.answer.text !== ''

export function requestOf(model: string, before: Turn[], text: string, settings: Settings): ChatRequest {
  const { system, ...rest } = settings
  return { model, messages: [...messagesOf(before, system), { role: 'user', content: text }], ...rest }
}

/** send asks the model. It replaces the turn at this place and all after it, or is added. */
export function send(model: string, text: string, settings: Settings, at = turns.value.length) {
  if (running.value) return
  const before = turns.value.slice(0, at)
  const request = requestOf(model, before, text, settings)
  const steps = new Steps(model)
  const answer: Answer = {
    id: newId(),
    state: 'running',
    text: '',
    thinking: '',
    refusal: '',
    began: Date.now(),
    took: 0,
    lane: steps.lane,
    dropped: 0,
    unknown: [],
    asked: [],
    ignored: [],
  }
  const turn: Turn = { id: answer.id, model, text, answer }
  const abort = new AbortController()
  turns.value = [...before, turn].slice(-maxTurns)
  running.value = { turn, abort }
  void run(request, turn, steps, abort)
}

async function run(request: ChatRequest, turn: Turn, steps: Steps, abort: AbortController) {
  const { answer } = turn
  const began = performance.now()
  const since = () => performance.now() - began
  try {
    for await (const piece of chat(request, answer.id, abort.signal)) {
      take(answer, steps, piece, since())
      changed(answer)
    }
    answer.state = 'done'
  } catch (error) {
    if (abort.signal.aborted) answer.state = 'stopped'
    else fail(answer, error)
  }
  answer.took = since()
  steps.end(answer.took, answer.state === 'done' ? 'ok' : answer.state)
  if (running.value?.turn === turn) running.value = undefined
  changed(answer)
  store()
}

function fail(answer: Answer, error: unknown) {
  const e = error instanceof ApiError ? error : undefined
  // the owner may have cancelled it elsewhere
  answer.state = e?.code === 'cancelled' ? 'stopped' : 'failed'
  answer.fault = {
    code: e?.code ?? '',
    message: error instanceof Error ? error.message : String(error),
    hint: e?.hint ?? '',
    status: e?.status ?? 0,
  }
}

function take(answer: Answer, steps: Steps, piece: Piece, at: number) {
  switch (piece.kind) {
    case 'begun':
      answer.ignored = piece.ignored
      return
    case 'finish':
      answer.reason = piece.reason
      return
    case 'usage':
      answer.usage = piece.usage
      return
    case 'event':
      steps.add(piece.event, at)
      answer.dropped = steps.dropped
      answer.unknown = [...steps.unknown]
      if (piece.event.type === 'approval_required') ask(answer, piece.event)
      return
  }
  answer.first ??= at
  answer[piece.kind] += piece.text
}

function ask(answer: Answer, e: ToolEvent) {
  if (!e.approval_id || answer.asked.some(a => a.id === e.approval_id) || answer.asked.length >= maxAsked) return
  const asked: Asked = {
    id: e.approval_id,
    tool: e.tool ?? '',
    arguments: e.arguments,
    expires_at: e.expires_at ?? '',
    may_decide: e.may_decide ?? false,
  }
  if (e.agent) asked.agent = e.agent
  answer.asked = [...answer.asked, asked]
}

/** stop ends the request that runs: all that the runtime does for it, and then the connection. */
export async function stop() {
  const now = running.value
  if (!now) return
  // a runtime that does not answer does not hold it back; without the connection, it ends the request itself
  await cancelRequest(now.turn.answer.id).catch(() => {})
  now.abort.abort()
}

export function clear() {
  void stop()
  turns.value = []
  draft.value = ''
  store()
}

/** remove takes a turn out of the conversation. */
export function remove(turn: Turn) {
  turns.value = turns.value.filter(t => t !== turn)
  store()
}

function store() {
  if (leaving) return
  let list = turns.value
  for (;;) {
    const text = JSON.stringify({ version, turns: list })
    if (text.length <= maxStored && put(text)) break
    if (list.length === 0) break
    list = list.slice(1)
  }
  const lost = turns.value.length - list.length
  unstored.value = lost === 0 ? '' : `The first ${lost} of the messages would be lost by a reload: they are too long.`
}

function put(text: string): boolean {
  try {
    sessionStorage.setItem(name, text)
    return true
  } catch {
    return false // the browser has less room
  }
}

function restore(): Turn[] {
  try {
    const stored = JSON.parse(sessionStorage.getItem(name) ?? 'null')
    const list: Turn[] = stored?.version === version ? stored.turns : []
    for (const { answer } of list) {
      if (answer.state !== 'running') continue
      answer.state = 'stopped' // by the reload
      const steps = answer.lane
      if (steps.to === undefined) [steps.to, steps.state] = [answer.took, 'stopped']
    }
    return list
  } catch {
    return []
  }
}

// What ends because the page is left is not stored as a failure.

addEventListener('pagehide', () => (store(), (leaving = true)))
addEventListener('pageshow', () => (leaving = false))

let last = key.value
key.subscribe(now => {
  if (last !== '' && now !== last) clear()
  last = now
})
