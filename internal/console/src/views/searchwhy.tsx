// Why a search found what it found: the share of each channel in the score, as bars.
import { shown } from '../lib/text.ts'

export interface Channel {
  source: string
  rank: number
  score: number
  weight?: number
  share?: number
  counts?: boolean
}

const names: Record<string, string> = {
  full_text: 'words',
  vector: 'meaning',
  ngrams: 'parts of words',
  agreement: 'words and meaning agree',
  learned: 'learned from use',
  keyword: 'keywords',
  schema: 'names of parameters',
}

export const digits = (score: number): string => String(Number(score.toPrecision(3)))

/** Channels shows the channels that rank a hit, the one with the largest share first. */
export function Channels({ channels, of }: { channels: Channel[]; of: string }) {
  const list = channels.filter(c => c.rank > 0).sort((a, b) => (b.share ?? 0) - (a.share ?? 0) || a.rank - b.rank)
  if (list.length === 0) return <p class="soft small">No channel ranks it.</p>
  return (
    <ul class="bars" aria-label={`Channels that found ${shown(of, 60)}`}>
      {list.map(c => {
        const name = names[c.source] ?? c.source
        const share = c.share ?? 0
        return (
          <li key={c.source}>
            <span>
              {name} <span class="soft">#{c.rank}</span>
              {c.counts === false && <span class="soft"> too low to count</span>}
            </span>
            {c.share === undefined ? (
              <span />
            ) : (
              <meter min={0} max={1} value={share} aria-label={`share of ${name} in the score of ${shown(of, 60)}`} />
            )}
            <span class="right nowrap">
              {c.share !== undefined && `${(share * 100).toFixed(0)} % `}
              <span class="soft">score {digits(c.score)}</span>
            </span>
          </li>
        )
      })}
    </ul>
  )
}

/** Marked shows a text with the terms that were matched marked. */
export function Marked({ text, terms, max = 600 }: { text: string; terms: string[]; max?: number }) {
  const safe = shown(text, max)
  const words = terms.filter(t => t.length > 1).map(t => t.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  if (words.length === 0) return <span class="foreign">{safe}</span>
  const parts = safe.split(new RegExp(`(${words.join('|')})`, 'gi'))
  return <span class="foreign">{parts.map((part, i) => (i % 2 ? <mark key={i}>{part}</mark> : part))}</span>
}

export interface ToolHit {
  tool_id: string
  description: string
  score: number
  matched_terms: string[]
  match_sources: Channel[]
}

/** ToolHits lists the tools that a search found, with what each owes its rank to. */
export function ToolHits({ hits, link }: { hits: ToolHit[]; link?: (tool: string) => string }) {
  return (
    <ol class="hits">
      {hits.map(hit => (
        <li key={hit.tool_id} class="panel">
          <div class="title">
            <h3>{link ? <a href={link(hit.tool_id)}>{shown(hit.tool_id, 80)}</a> : shown(hit.tool_id, 80)}</h3>
            <span class="badge accent">score {digits(hit.score)}</span>
          </div>
          <p>
            <Marked text={hit.description.split('\n')[0] ?? ''} terms={hit.matched_terms} />
          </p>
          <Channels channels={hit.match_sources} of={hit.tool_id} />
        </li>
      ))}
    </ol>
  )
}
