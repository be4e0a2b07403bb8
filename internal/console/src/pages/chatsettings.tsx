// The settings of requests: what POST /v1/chat/completions takes. They are part of the address.
import { param, setParams } from '../lib/route.ts'
import { Badge } from '../ui/parts.tsx'
import type { Settings } from '../lib/chatstore.ts'

export interface Read {
  value: Settings
  /** What is wrong, by the name of the setting. */
  faults: Record<string, string>
}

interface Field {
  name: string
  title: string
  min: number
  max: number
  step: number
}

const numbers: Field[] = [
  { name: 'temperature', title: 'Temperature', min: 0, max: 2, step: 0.1 },
  { name: 'top_p', title: 'Top p', min: 0, max: 1, step: 0.05 },
  { name: 'max_tokens', title: 'Maximum tokens', min: 1, max: 1_000_000, step: 1 },
]
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh']
const others = ['model', 'messages', 'stream', 'stream_options'] // which the page sends itself

export function readSettings(): Read {
  const value: Settings = {}
  const faults: Record<string, string> = {}
  const system = param('system')
  if (system) value.system = system
  for (const { name, min, max } of numbers) {
    const text = param(name)
    if (!text) continue
    const n = Number(text)
    if (n >= min && n <= max) value[name] = n
    else faults[name] = `${name} takes a number from ${min} to ${max}.`
  }
  if (param('effort')) value.reasoning_effort = param('effort')
  const more = param('more')
  if (more) {
    try {
      const fields = JSON.parse(more)
      if (typeof fields !== 'object' || !fields || Array.isArray(fields)) throw new Error('it is not an object')
      const own = Object.keys(fields).find(k => others.includes(k))
      if (own) throw new Error(`the page itself sends ${own}`)
      Object.assign(value, fields)
    } catch (e) {
      faults.more = `Further fields are a JSON object: ${(e as Error).message}.`
    }
  }
  return { value, faults }
}

const maxLength = 4000 // of a text that is part of the address

export function SettingsPanel({ settings: { value, faults } }: { settings: Read }) {
  const set = Object.keys(value).length
  const wrong = Object.values(faults)
  const change = (name: string) => (e: { currentTarget: { value: string } }) =>
    setParams({ [name]: e.currentTarget.value.trim() })
  return (
    <details class="settings" open={set > 0 || wrong.length > 0}>
      <summary>Settings {set > 0 && <Badge tone="accent">{set} set</Badge>}</summary>
      <div class="stack">
        <label class="field">
          System prompt
          <textarea rows={2} maxLength={maxLength} value={param('system')} onChange={change('system')} />
        </label>
        <div class="fields">
          {numbers.map(f => (
            <label key={f.name} class="field">
              {f.title}
              <input
                type="number"
                min={f.min}
                max={f.max}
                step={f.step}
                placeholder="the model’s"
                value={param(f.name)}
                aria-invalid={f.name in faults}
                onChange={change(f.name)}
              />
            </label>
          ))}
          <label class="field">
            Reasoning effort
            <select value={param('effort')} onChange={change('effort')}>
              <option value="">the model’s</option>
              {efforts.map(e => (
                <option key={e}>{e}</option>
              ))}
            </select>
          </label>
        </div>
        <label class="field">
          Further fields of the request, as JSON
          <input
            type="text"
            class="mono"
            maxLength={maxLength}
            placeholder='{"seed": 7, "response_format": {"type": "json_object"}}'
            value={param('more')}
            aria-invalid={'more' in faults}
            onChange={change('more')}
          />
        </label>
        {wrong.map(text => (
          <p key={text} class="note bad" role="alert">
            {text}
          </p>
        ))}
      </div>
    </details>
  )
}
