// What the keys of spicepod.yaml mean, from its JSON Schema (GET /v1/schema/spicepod.json).

export interface PodSchema {
  $ref?: string
  $defs?: Record<string, PodSchema>
  type?: string | string[]
  description?: string
  default?: unknown
  enum?: unknown[]
  properties?: Record<string, PodSchema>
  additionalProperties?: boolean | PodSchema
  items?: PodSchema
  anyOf?: PodSchema[]
}

/** describe is a line about the key at a path of keys; undefined if the schema does not know it. */
export function describe(root: PodSchema, path: string[]): string | undefined {
  if (path.length === 0) return undefined
  let at: PodSchema | undefined = root
  for (const key of path) {
    at = step(root, at, key)
    if (!at) return undefined
  }
  const own = resolve(root, at)
  const parts = [`${path.join('.')}: ${typeOf(own)}`]
  const about = at.description ?? own.description
  if (about) parts.push(about)
  if (own.enum) parts.push(`One of ${own.enum.map(e => JSON.stringify(e)).join(', ')}.`)
  const otherwise = at.default ?? own.default
  if (otherwise !== undefined) parts.push(`Default: ${JSON.stringify(otherwise)}.`)
  return parts.join('\n')
}

function resolve(root: PodSchema, s: PodSchema): PodSchema {
  const name = s.$ref?.replace('#/$defs/', '')
  return (name && root.$defs?.[name]) || s
}

/** step is the schema of a key. Lists have the keys of their items, alternatives those of each. */
function step(root: PodSchema, from: PodSchema, key: string): PodSchema | undefined {
  const s = resolve(root, from)
  const found = s.properties?.[key]
  if (found) return found
  for (const inner of [s.items, ...(s.anyOf ?? [])]) {
    const next = inner && step(root, inner, key)
    if (next) return next
  }
  return typeof s.additionalProperties === 'object' ? s.additionalProperties : undefined
}

const typeOf = (s: PodSchema): string =>
  s.type
    ? [s.type].flat().join(' or ')
    : s.anyOf
      ? s.anyOf.map(a => a.$ref?.replace('#/$defs/', '') ?? typeOf(a)).join(' or ')
      : 'value'
