// Fields for the parameters of the statements in the editor.
import type { Signal } from '@preact/signals'
import type { Parameter } from '../lib/sqlrun.ts'
import { shown } from '../lib/text.ts'

const types: [Parameter['type'], string][] = [
  ['text', 'text'],
  ['number', 'number'],
  ['boolean', 'true or false'],
  ['json', 'list or object (JSON)'],
  ['empty', 'empty text'],
  ['null', 'NULL'],
]

export function Parameters({ list, values }: { list: Parameter[]; values: Signal<Record<string, Parameter>> }) {
  const set = (p: Parameter) => (values.value = { ...values.peek(), [p.name]: p })
  return (
    <fieldset class="sql-parameters">
      <legend>Parameters</legend>
      {list.map(p => {
        const title = '$' + shown(p.name, 60)
        return (
          <div key={p.name} class="row">
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
