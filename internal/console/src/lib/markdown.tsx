// Markdown of models as elements: never as HTML. Markup that a model writes stays text, images are
// not loaded, and only links to http and https are links, each with its host behind it.
//
// An answer arrives in pieces and may be long, so a parse of the whole for each piece would take
// quadratic time. Document parses its last block again and again, and the blocks before it never:
// in CommonMark a block that is followed by another one is complete. A code block that stays open
// and a paragraph without end are not parsed again either.
import MarkdownIt, { type Env, type Token } from 'markdown-it'
import { Fragment, h, type ComponentChild, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Copy } from '../ui/parts.tsx'
import { LongText } from '../ui/foreign.tsx'
import { plural } from './format.ts'
import { visible } from './text.ts'

const maxBlock = 32 << 10 // characters of a block that is parsed; a longer one is shown as plain text
const minFence = 2000 // characters of a code block that is not parsed again
const maxWhole = 128 << 10 // characters of an answer that is parsed once more when it is complete
const maxLines = 400 // of a code block that are shown at first
const groupSize = 64 // blocks that are skipped together when an answer grows
const definition = /^[ >*+-]{0,20}\[[^\]\n]+\]:/m // of a link, with false positives
const share = 8 // time between two parses, as a multiple of what the last one took

const maxNesting = 20 // of the tokens of a block; one that is deeper is shown as plain text, up to an empty line

const parser = new MarkdownIt('default', { html: false, linkify: true, maxNesting })
parser.linkify.set({ fuzzyLink: false, fuzzyEmail: false, fuzzyIP: false })
parser.validateLink = url => /^https?:\/\//i.test(url) // anything else stays as it is written

/** Code is a code block with its language and a button that copies it. */
function Code({ text, language }: { text: string; language: string }) {
  const [all, setAll] = useState(false)
  const lines = count(text)
  return (
    <div class="code">
      <div class="bar">
        <span class="soft small foreign">{visible(language.slice(0, 40)) || 'code'}</span>
        <Copy text={text} />
      </div>
      <pre class="foreign" tabIndex={0} dir="ltr">
        {visible(all ? text : text.slice(0, lineStart(text, maxLines)))}
      </pre>
      {lines > maxLines && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? 'Show less' : `Show all ${plural(lines, 'line')}`}
        </button>
      )}
    </div>
  )
}

function count(text: string): number {
  let n = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) n++
  return text.endsWith('\n') || text === '' ? n : n + 1
}

/** lineStart is where the line with this number begins, or the end of the text. */
function lineStart(text: string, line: number): number {
  let at = 0
  for (const end of text.matchAll(/\r\n?|\n/g)) {
    if (line-- === 0) return at
    at = end.index + end[0].length
  }
  return line === 0 ? at : text.length
}

interface Open {
  tag: string
  token: Token | null
  children: ComponentChild[]
}

/** Level is that of the last heading: the next one is at most one below it, as readers of screens expect. */
interface Level {
  last: number
}

/** elements makes the elements of tokens. Depth is bounded by the parser's maxNesting. */
function elements(tokens: Token[], level: Level): ComponentChild[] {
  const stack: Open[] = [{ tag: '', token: null, children: [] }]
  for (const t of tokens) {
    const top = stack[stack.length - 1]!
    if (t.nesting > 0) stack.push({ tag: t.tag, token: t, children: [] })
    else if (t.nesting < 0) {
      stack.pop()
      stack[stack.length - 1]!.children.push(container(top, level))
    } else if (t.type === 'inline') {
      const inner = elements(t.children ?? [], level)
      if (stack[stack.length - 2]?.tag === 'li') markTask(inner)
      top.children.push(...inner)
    } else top.children.push(leaf(t))
  }
  while (stack.length > 1) {
    const top = stack.pop()!
    stack[stack.length - 1]!.children.push(container(top, level))
  }
  return stack[0]!.children
}

/** markTask shows the mark of a task as a box. */
function markTask(inner: ComponentChild[]) {
  const mark = typeof inner[0] === 'string' && /^\[([ xX])\] /.exec(inner[0])
  if (mark) inner[0] = (mark[1] === ' ' ? '☐ ' : '☑ ') + (inner[0] as string).slice(mark[0].length)
}

function container({ tag, token: t, children }: Open, level: Level): ComponentChild {
  if (t?.hidden) return h(Fragment, null, ...children) // a paragraph of a tight list
  switch (tag) {
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': // below that of the answer, which is a 2
      level.last = Math.min(6, Number(tag[1]) + 2, level.last + 1)
      return h(`h${level.last}`, { class: `level${tag[1]}`, dir: 'auto' }, ...children)
    case 'a':
      return <Link url={String(t?.attrGet('href') ?? '')}>{children}</Link>
    case 'ol':
      return (
        <ol start={Number(t?.attrGet('start') ?? 1)} dir="auto">
          {children}
        </ol>
      )
    case 'table':
      return (
        <div class="table" tabIndex={0} role="group" aria-label="Table of the answer">
          <table>{children}</table>
        </div>
      )
    case 'td':
    case 'th':
      return h(tag, { class: /right/.test(String(t?.attrGet('style') ?? '')) ? 'right' : '', dir: 'auto' }, ...children)
    case 'p':
    case 'ul':
    case 'li':
    case 'blockquote':
      return h(tag, { dir: 'auto' }, ...children)
    case 'em':
    case 'strong':
    case 's':
    case 'thead':
    case 'tbody':
    case 'tr':
      return h(tag, null, ...children)
  }
  return h(Fragment, null, ...children)
}

function leaf(t: Token): ComponentChild {
  switch (t.type) {
    case 'softbreak':
      return '\n'
    case 'hardbreak':
      return <br />
    case 'hr':
      return <hr />
    case 'code_inline':
      return <code class="foreign">{visible(t.content)}</code>
    case 'fence':
    case 'code_block':
      return <Code text={t.content} language={t.info.trim().split(/\s/)[0] ?? ''} />
    case 'image':
      return (
        <>
          [image{t.content && `: ${visible(t.content)}`} <Link url={String(t.attrGet('src') ?? '')}>not loaded</Link>]
        </>
      )
  }
  return visible(t.content)
}

/** Link opens elsewhere. Its text may say anything, so the host is shown, as ASCII. */
function Link({ url, children }: { url: string; children: ComponentChild }) {
  let host = ''
  try {
    host = new URL(url).host
  } catch {
    return <>{children}</>
  }
  return (
    <span class="foreign">
      <a href={url} target="_blank" rel="noreferrer noopener" title={visible(url.slice(0, 1000))}>
        {children}
      </a>{' '}
      <span class="soft small">({host})</span>
    </span>
  )
}

/** A block at the top of a text. */
interface Block {
  tokens: Token[]
  at: number // where its source begins
  source: string // up to the next block, or to the end
}

/** parse splits a text into its blocks. Definitions in it are not kept: the last one may be incomplete. */
function parse(text: string, known: Env): Block[] {
  const tokens = parser.parse(text, { references: { ...known.references } })
  const blocks: Block[] = []
  let [line, at] = [0, 0]
  for (const t of tokens) {
    if (t.level > 0 || t.nesting < 0) {
      blocks.at(-1)!.tokens.push(t)
      continue
    }
    const begin = t.map?.[0] ?? line
    at += lineStart(text.slice(at), begin - line)
    line = begin
    blocks.push({ tokens: [t], at, source: '' })
  }
  blocks.forEach((b, i) => (b.source = text.slice(b.at, blocks[i + 1]?.at)))
  return blocks
}

const show = ({ tokens }: Block, level: Level): ComponentChild => h(Fragment, null, ...elements(tokens, level))

/** isDeep reports whether the parser has left out what is nested deeper than it goes, and what follows. */
const isDeep = ({ tokens }: Block): boolean => tokens.some(t => t.level >= maxNesting - 1)

/** A block that is not parsed again: an open code block, or a text that is too long. */
interface Held {
  from: number // of its text
  seen: number // up to where its end was searched
  fence?: { markup: string; language: string }
}

/** Document is the elements of a text that grows. */
export class Document {
  private env: Env = {} // the definitions of links in the text that is settled
  private groups: VNode[] = []
  private blocks: ComponentChild[] = []
  private last: ComponentChild[] = []
  private from = 0 // where the text begins that is not settled
  private level: Level = { last: 2 } // of the blocks that are settled
  private held: Held | undefined
  private parsed = 0 // length of the text that last shows
  private next = 0

  /** render returns the elements, and whether they lack the end of the text until the next call. */
  render(text: string, ended: boolean): { children: ComponentChild[]; stale: boolean } {
    const now = performance.now()
    if (text.length !== this.parsed && (ended || now >= this.next)) {
      this.advance(text, ended)
      this.parsed = text.length
      const done = performance.now()
      this.next = done + (done - now) * share
    }
    return { children: [...this.groups, group([...this.blocks, ...this.last])], stale: text.length !== this.parsed }
  }

  private advance(text: string, ended: boolean) {
    if (ended && text.length <= maxWhole && definition.test(text)) {
      // a link may be used before its definition, which is known by now
      this.env = {}
      ;[this.groups, this.blocks, this.from, this.held, this.level] = [[], [], 0, undefined, { last: 2 }]
    }
    for (;;) {
      if (this.held && !this.follow(text, ended)) return
      const blocks = parse(text.slice(this.from), this.env)
      const deep = blocks.findIndex(isDeep)
      if (deep >= 0) blocks.length = deep + 1 // the parser has left out what follows
      const last = blocks.pop()
      this.settle(blocks.map(b => show(b, this.level)))
      this.last = []
      if (!last) return
      const settled = text.slice(this.from, this.from + last.at)
      if (definition.test(settled)) parser.parse(settled, this.env)
      this.from += last.at
      if (this.hold(last)) continue
      this.last = [show(last, { ...this.level })]
      return
    }
  }

  /** hold makes a block one that is not parsed again, if it is one of these. */
  private hold(block: Block): boolean {
    const { tokens, source } = block
    const first = tokens[0]
    if (first?.type === 'fence') {
      if (source.length < minFence || !source.startsWith(first.markup)) return false // short, or indented
      const from = this.from + lineStart(source, 1)
      const language = first.info.trim().split(/\s/)[0] ?? ''
      this.held = { from, seen: from, fence: { markup: first.markup, language } }
      return true
    }
    if (source.length <= maxBlock && !isDeep(block)) return false
    this.held = { from: this.from, seen: this.from }
    return true
  }

  /** follow shows more of the block that is held, and reports whether it has ended. */
  private follow(text: string, ended: boolean): boolean {
    const { from, fence } = this.held!
    const part = (to: number) =>
      fence ? <Code text={text.slice(from, to)} language={fence.language} /> : <LongText text={text.slice(from, to)} />
    const close = fence ? new RegExp(`^ {0,3}\\${fence.markup[0]}{${fence.markup.length},}[ \\t]*\\r?$`) : /^[ \t]*\r?$/
    let start = this.held!.seen
    for (let end = text.indexOf('\n', start); ; end = text.indexOf('\n', start)) {
      const whole = end >= 0
      if (!whole && !(ended && start < text.length)) break
      if (close.test(text.slice(start, whole ? end : undefined))) {
        this.settle([part(start)])
        this.from = whole ? end + 1 : text.length
        this.held = undefined
        return true
      }
      if (!whole) break
      start = end + 1
    }
    this.held!.seen = start
    this.last = [part(text.length)]
    return false
  }

  private settle(blocks: ComponentChild[]) {
    for (const block of blocks) {
      if (this.blocks.push(block) < groupSize) continue
      this.groups.push(group(this.blocks))
      this.blocks = []
    }
  }
}

/** group is some blocks. Those that are complete are the same element in each rendering, which Preact skips. */
const group = (blocks: ComponentChild[]): VNode => <div class="group">{blocks}</div>

/** Markdown shows a text of a model. Give it a key: it takes a text that only grows. */
export function Markdown({ text, ended }: { text: string; ended: boolean }) {
  const own = useRef<Document | null>(null)
  own.current ??= new Document()
  const [, again] = useState(0)
  const { children, stale } = own.current.render(text, ended)
  useEffect(() => {
    if (!stale) return
    const timer = setTimeout(() => again(n => n + 1), 50)
    return () => clearTimeout(timer)
  })
  return <div class="markdown">{children}</div>
}
