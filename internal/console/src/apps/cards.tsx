// ui://spiced/search, ui://spiced/timeline and ui://spiced/approval: why a search found what it found,
// what agents did for an answer, and a call that waits for a person.
import { useMemo } from 'preact/hooks'
import { Steps } from '../lib/chatsteps.ts'
import type { ToolEvent } from '../lib/chat.ts'
import { shown } from '../lib/text.ts'
import { LongText } from '../ui/foreign.tsx'
import { ToolHits, type ToolHit } from '../views/searchwhy.tsx'
import { Timeline } from '../views/timeline.tsx'
import { show, textOf, valueOf, type Call } from './frame.tsx'

show(call => {
  if (Array.isArray(call.result._meta?.['spiced/timeline'])) return <Agents call={call} />
  const value = valueOf(call.result) as { tools?: ToolHit[]; query?: string; no_good_match?: boolean } | undefined
  if (Array.isArray(value?.tools) && value.tools.every(t => Array.isArray(t.match_sources)))
    return <Search query={value.query ?? ''} hits={value.tools} poor={value.no_good_match ?? false} />
  return undefined
})

function Search({ query, hits, poor }: { query: string; hits: ToolHit[]; poor: boolean }) {
  return (
    <>
      <h1 class="foreign">Tools for “{shown(query, 120)}”</h1>
      {poor && <div class="note warn">The tools found probably do not match.</div>}
      {hits.length === 0 && <p class="empty">No tool was found.</p>}
      <ToolHits hits={hits} />
    </>
  )
}

type TimedEvent = ToolEvent & { at_ms: number }

function Agents({ call }: { call: Call }) {
  // The steps are those of a chat in which the agent was called, so its lane is that of the only call.
  const lane = useMemo(() => {
    const events = call.result._meta!['spiced/timeline'] as TimedEvent[]
    const end = Math.max(1, ...events.map(e => e.at_ms))
    const steps = new Steps(call.tool)
    steps.add({ type: 'tool_call', call_id: 'call', tool: call.tool, arguments: call.arguments }, 0)
    for (const e of events) steps.add(e, e.at_ms)
    steps.end(end, 'ok')
    return steps.lane.steps[0]?.lanes[0]
  }, [call])
  return (
    <>
      {lane && <Timeline lane={lane} now={lane.to ?? 1} />}
      {!call.result.isError && <LongText text={textOf(call.result)} />}
    </>
  )
}
