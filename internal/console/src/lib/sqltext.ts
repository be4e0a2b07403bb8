// Statements in a text: where each begins and ends, and which parameters it has. The runtime takes one
// statement for each request. Strings, quoted names, dollar quotes and comments are passed over, as
// DuckDB's tokenizer does.

export interface Statement {
  from: number
  to: number
  text: string
}

const token = new RegExp(
  [
    /[eE]'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'|$)/, // E'…' has escapes
    /'[^']*(?:''[^']*)*(?:'|$)/,
    /"[^"]*(?:""[^"]*)*(?:"|$)/,
    /--[^\n]*/,
    /\/\*/,
    /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/, // begins a dollar quote
    /::|:=/,
    /[$:?][\w\u0080-\uffff]*/,
    /[\w\u0080-\uffff]+/,
    /\s+/,
    /[\s\S]/,
  ]
    .map(r => r.source)
    .join('|'),
  'gy',
)

/** tokens calls each with the tokens that are code; a dollar quote is one. */
function tokens(text: string, each: (word: string, from: number, to: number) => void) {
  token.lastIndex = 0
  for (let m = token.exec(text); m; m = token.exec(text)) {
    const word = m[0]
    if (word === '/*') {
      token.lastIndex = commentEnd(text, m.index)
      continue
    }
    if (word.startsWith('--') || word.trim() === '') continue
    let to = token.lastIndex
    if (word.length > 1 && word.startsWith('$') && word.endsWith('$')) {
      const end = text.indexOf(word, to)
      to = token.lastIndex = end < 0 ? text.length : end + word.length
    }
    each(word, m.index, to)
  }
}

/** Comments nest, as in PostgreSQL. */
function commentEnd(text: string, from: number): number {
  const mark = /\/\*|\*\//g
  mark.lastIndex = from
  let depth = 0
  for (let m = mark.exec(text); m; m = mark.exec(text)) {
    depth += m[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
  return text.length
}

/** statements cuts a text at its semicolons. Empty ones are left out. */
export function statements(text: string): Statement[] {
  const list: Statement[] = []
  let [from, end] = [-1, 0]
  const add = () => {
    if (from >= 0) list.push({ from, to: end, text: text.slice(from, end) })
    from = -1
  }
  tokens(text, (word, at, to) => {
    if (word === ';') return add()
    if (from < 0) from = at
    end = to
  })
  add()
  return list
}

/**
 * statementAt is the statement that the cursor is in. Between two it is the one before, as long as the
 * cursor is on the line where that ends: right behind its semicolon people have just written it.
 */
export function statementAt(text: string, cursor: number): Statement | undefined {
  const list = statements(text)
  const next = list.findIndex(s => cursor <= s.to)
  if (next < 0) return list.at(-1)
  const before = list[next - 1]
  if (before && cursor < list[next]!.from && !text.slice(before.to, cursor).includes('\n')) return before
  return list[next]
}

/** isExplain reports whether a statement is an EXPLAIN itself. */
export function isExplain(text: string): boolean {
  let first = ''
  tokens(text, word => (first ||= word))
  return first.toUpperCase() === 'EXPLAIN'
}

/**
 * parametersOf lists the parameters in the order of their first place: '1' for $1, 'name' for $name and
 * :name, in the letters of the first place, as DuckDB takes $x and $X for one. A ? is the parameter whose
 * number is one more than there are before it. A colon right after a value or a name begins a slice, or the value of a
 * struct.
 */
export function parametersOf(text: string): string[] {
  const found = new Map<string, string>()
  const add = (name: string) => {
    const id = name.replace(/[A-Z]/g, c => c.toLowerCase())
    if (!found.has(id)) found.set(id, name)
  }
  tokens(text, (word, from) => {
    if (word === '?') add(String(found.size + 1))
    else if (/^\?\d+$/.test(word) || (/^\$./.test(word) && !word.endsWith('$'))) add(word.slice(1))
    else if (/^:[A-Za-z_\u0080-\uffff]/.test(word) && !/[\w"')\]}\u0080-\uffff]/.test(text[from - 1] ?? ''))
      add(word.slice(1))
  })
  return [...found.values()]
}
