// Fields for the parameters of the statements in the editor.
import type { Signal } from '@preact/signals'
import type { Parameter } from '../lib/sqlrun.ts'
import { own, shown } from '../lib/text.ts'

const types: [Parameter['type'], string][] = [
  ['text', 'text'],
  ['number', 'number'],
  ['boolean', 'true or false'],
  ['json', 'list or object (JSON)'],
  ['empty', 'empty text'],
  ['null', 'NULL'],
]

export const defaults = (name: string): Parameter => ({ name, type: 'text', text: '' })

export function Parameters({ names, values }: { names: string[]; values: Signal<Record<string, Parameter>> }) {
  const set = (p: Parameter) => (values.value = { ...values.peek(), [p.name]: p })
  return (
    <fieldset class="sql-parameters">
      <legend>Parameters</legend>
      {names.slice(0, 100).map(name => {
        const p = own(values.value, name) ?? defaults(name)
        const title = '$' + shown(name, 60)
        return (
          <div key={name} class="row">
            <code class="name foreign">{title}</code>
            <select
              aria-label={`Type of ${title}`}
              value={p.type}
              onChange={e => set({ ...p, type: e.currentTarget.value as Parameter['type'] })}
            >
              {types.map(([id, text]) => (
                <option key={id} value={id}>
                  {text}
                </option>
              ))}
            </select>
            {p.type === 'boolean' ? (
              <select
                aria-label={`Value of ${title}`}
                value={p.text === 'true' ? 'true' : 'false'}
                onChange={e => set({ ...p, text: e.currentTarget.value })}
              >
                <option>true</option>
                <option>false</option>
              </select>
            ) : (
              <input
                class="grow"
                aria-label={`Value of ${title}`}
                disabled={p.type === 'null' || p.type === 'empty'}
                inputMode={p.type === 'number' ? 'decimal' : 'text'}
                value={p.type === 'null' || p.type === 'empty' ? '' : p.text}
                onInput={e => set({ ...p, text: e.currentTarget.value })}
              />
            )}
          </div>
        )
      })}
    </fieldset>
  )
}
