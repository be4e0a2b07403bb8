// A form for arguments, made of a JSON Schema: a field for each property of a plain type, JSON for
// the rest. A field that is empty is left out of the arguments.
import { useId } from 'preact/hooks'
import { own, shown } from '../lib/text.ts'

export interface Schema {
  type?: string | string[]
  description?: string
  enum?: unknown[]
  default?: unknown
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  format?: string
  [more: string]: unknown
}

/** The texts of the fields, by property. */
export type Fields = Record<string, string>

const typesOf = (s: Schema): string[] => (Array.isArray(s.type) ? s.type : s.type ? [s.type] : [])

/** plainType is the type that a field of text can hold; empty if it holds JSON. */
function plainType(s: Schema): '' | 'string' | 'number' | 'integer' | 'boolean' {
  const types = typesOf(s).filter(t => t !== 'null')
  const one = types.length === 1 ? types[0]! : ''
  return one === 'string' || one === 'number' || one === 'integer' || one === 'boolean' ? one : ''
}

/**
 * argumentsOf turns the texts of the fields into the JSON of the arguments. Numbers keep their
 * digits, which JavaScript's numbers would lose. The error names the field.
 */
export function argumentsOf(schema: Schema, fields: Fields): string {
  const members: string[] = []
  for (const [name, s] of Object.entries(schema.properties ?? {})) {
    const text = own(fields, name) ?? ''
    if (text === '') continue
    const type = s.enum ? '' : plainType(s)
    let json = text
    if (type === 'string') json = JSON.stringify(text)
    else if (type === 'number' || type === 'integer') {
      if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text)) throw new Error(`${name}: “${text}” is not a number`)
    } else {
      try {
        JSON.parse(text)
      } catch (e) {
        throw new Error(`${name}: this is not JSON: ${(e as Error).message}`)
      }
    }
    members.push(`${JSON.stringify(name)}: ${json}`)
  }
  return members.length === 0 ? '{}' : `{${members.join(', ')}}`
}

/** fieldsOf is the reverse: the texts of the fields for arguments. */
export function fieldsOf(schema: Schema, args: Record<string, unknown>): Fields {
  const fields: Fields = Object.create(null)
  for (const [name, value] of Object.entries(args)) {
    const s = own(schema.properties ?? {}, name) ?? {}
    fields[name] = !s.enum && plainType(s) === 'string' && typeof value === 'string' ? value : JSON.stringify(value)
  }
  return fields
}

interface Props {
  schema: Schema
  fields: Fields
  change: (fields: Fields) => void
}

export function SchemaForm({ schema, fields, change }: Props) {
  const id = useId()
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return <p class="soft">It has no parameters.</p>
  return (
    <div class="fields">
      {properties.map(([name, s]) => {
        const required = schema.required?.includes(name) ?? false
        const about = `${id}-${name}`
        return (
          <label key={name} class="field">
            <span>
              <code class="foreign">{shown(name, 80)}</code>{' '}
              <span class="soft small">
                {typesOf(s).join(' or ') || 'JSON'}
                {required ? ', required' : ''}
              </span>
            </span>
            <Field
              schema={s}
              value={own(fields, name) ?? ''}
              describedBy={s.description ? about : undefined}
              required={required}
              set={text => change(Object.assign(Object.create(null), fields, { [name]: text }))}
            />
            {s.description && (
              <span id={about} class="soft small foreign">
                {shown(s.description, 400)}
              </span>
            )}
          </label>
        )
      })}
    </div>
  )
}

interface FieldProps {
  schema: Schema
  value: string
  describedBy: string | undefined
  required: boolean
  set: (text: string) => void
}

function Field({ schema, value, describedBy, required, set }: FieldProps) {
  const common = { 'aria-describedby': describedBy, 'aria-required': required }
  const hint = schema.default === undefined ? '' : JSON.stringify(schema.default)
  const choices = schema.enum ?? (plainType(schema) === 'boolean' ? [true, false] : undefined)
  if (choices)
    return (
      <select {...common} value={value} onChange={e => set(e.currentTarget.value)}>
        <option value="">{hint ? `default: ${shown(hint, 60)}` : 'left out'}</option>
        {choices.map(c => (
          <option key={JSON.stringify(c)} value={JSON.stringify(c)}>
            {shown(typeof c === 'string' ? c : JSON.stringify(c), 80)}
          </option>
        ))}
      </select>
    )
  const type = plainType(schema)
  const write = (e: { currentTarget: { value: string } }) => set(e.currentTarget.value)
  if (type === 'number' || type === 'integer')
    return <input {...common} type="text" inputMode="decimal" value={value} placeholder={hint} onInput={write} />
  if (type === '' || value.length > 60 || value.includes('\n'))
    return (
      <textarea
        {...common}
        rows={type === '' ? 3 : 5}
        class={type === '' ? 'mono' : ''}
        value={value}
        placeholder={hint || (type === '' ? 'JSON' : '')}
        onInput={write}
      />
    )
  return <input {...common} type="text" value={value} placeholder={hint} onInput={write} />
}
