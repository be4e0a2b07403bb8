// The editor: CodeMirror in a shadow root. There its styles are constructed style sheets, which the
// page's policy allows; in the document they would be style elements, which it refuses.
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import {
  bracketMatching,
  ensureSyntaxTree,
  foldGutter,
  foldKeymap,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language'
import { lintGutter, lintKeymap, setDiagnostics, type Diagnostic as Mark } from '@codemirror/lint'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { Compartment, EditorState, Prec, type Text } from '@codemirror/state'
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightSpecialChars,
  hoverTooltip,
  keymap,
  lineNumbers,
  type Rect,
  type Tooltip,
} from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import type { CompletionSource } from '@codemirror/autocomplete'
import { visible } from '../lib/text.ts'
import type { Diagnostic, EditorProps, Selection } from './code.tsx'
import styles from './editor.css?inline'
import { languageOf } from './languages.ts'

const sheet = new CSSStyleSheet()
sheet.replaceSync(styles)

// What CodeMirror does not mark by itself: the rest of what lib/text.ts calls deceptive.
const deceptive = /[\u115f\u1160\u17b4\u17b5\u180b-\u180f\u202a-\u202c\u2060-\u2065\u2068\u206a-\u206f\u3164\uffa0]/gu

const mostParsed = 200_000 // characters of a text that is highlighted

export class Editor {
  private readonly view: EditorView
  private readonly completions = new Compartment()
  private readonly language = new Compartment()
  /** The text of the editor. */
  private known: string
  /** Texts that the page was given and has not returned as its value: it may be behind fast keys. */
  private sent: string[] = []

  constructor(host: HTMLElement, props: { current: EditorProps }) {
    const p = props.current
    this.known = p.value
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    root.adoptedStyleSheets = [sheet]
    this.view = new EditorView({
      root,
      parent: root as unknown as Element,
      state: EditorState.create({
        doc: p.value,
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          highlightSpecialChars({ addSpecialChars: deceptive }),
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          bracketMatching(),
          search({ top: true }),
          EditorView.lineWrapping,
          this.language.of(p.value.length > mostParsed ? [] : languageOf(p.language).extension),
          this.parsedIfShort(p),
          syntaxHighlighting(classHighlighter),
          EditorView.contentAttributes.of({ 'aria-label': p.label, spellcheck: 'false', tabindex: '0' }),
          EditorState.allowMultipleSelections.of(true),
          p.readOnly
            ? EditorState.readOnly.of(true)
            : [indentOnInput(), closeBrackets(), autocompletion({ icons: false, positionInfo: beside })],
          this.completions.of([]),
          // A key that is held would run the statement many times.
          Prec.highest(
            EditorView.domEventHandlers({
              keydown: e => e.repeat && e.key === 'Enter' && (e.ctrlKey || e.metaKey) && (e.preventDefault(), true),
            }),
          ),
          // Tab moves on to the next control, as everywhere in the console.
          keymap.of([
            { key: 'Mod-Enter', run: () => this.run(props.current.onRun) },
            ...closeBracketsKeymap,
            ...completionKeymap,
            ...defaultKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...lintKeymap,
          ]),
          p.describe ? hoverTooltip((view, at) => tooltip(props, view, at)) : [],
          EditorView.domEventHandlers({ beforeinput: (e, view) => typeOver(e, view) }),
          EditorView.updateListener.of(u => {
            if (u.selectionSet) props.current.onPath?.(pathAt(u.state, u.state.selection.main.head))
            if (!u.docChanged) return
            const text = u.state.doc.toString()
            if (text === this.known) return // it came from the page
            this.known = text
            this.sent.push(text)
            props.current.onChange?.(text)
          }),
        ],
      }),
    })
    this.setCompletions(p.completions ?? [])
    this.setDiagnostics(p.diagnostics ?? [])
  }

  /** A long text is plain: each key would parse a token of a megabyte again. */
  private parsedIfShort(p: EditorProps) {
    return EditorState.transactionExtender.of(tr => {
      const plain = tr.newDoc.length > mostParsed
      if (!tr.docChanged || plain === tr.startState.doc.length > mostParsed) return null
      return { effects: this.language.reconfigure(plain ? [] : languageOf(p.language).extension) }
    })
  }

  private run(onRun: EditorProps['onRun']): boolean {
    closeCompletion(this.view)
    onRun?.(this.selection())
    return onRun !== undefined
  }

  selection(): Selection {
    const { from, to } = this.view.state.selection.main
    return { from, to }
  }

  select(from: number, to = from) {
    const end = this.view.state.doc.length
    this.view.dispatch({ selection: { anchor: Math.min(from, end), head: Math.min(to, end) }, scrollIntoView: true })
    this.view.focus()
  }

  /** go puts the cursor to a line and a column. */
  go(line: number, column: number) {
    const at = place(this.view.state.doc, line, column)
    this.view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) })
    this.view.focus()
  }

  /** insert puts a text in place of what is selected. */
  insert(text: string) {
    this.view.dispatch(this.view.state.replaceSelection(text))
    this.view.focus()
  }

  focus() {
    this.view.focus()
  }

  setValue(value: string) {
    const returned = this.sent.indexOf(value)
    if (returned >= 0 || value === this.known) {
      this.sent = value === this.known ? [] : this.sent.slice(returned + 1)
      return
    }
    this.sent = []
    this.known = value
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: value } })
  }

  setCompletions(sources: CompletionSource[]) {
    const data = sources.map(autocomplete => ({ autocomplete }))
    this.view.dispatch({ effects: this.completions.reconfigure(EditorState.languageData.of(() => data)) })
  }

  setDiagnostics(list: Diagnostic[]) {
    const doc = this.view.state.doc
    const marks = list.map((d): Mark => {
      const from = place(doc, d.line, d.column)
      const word = /^(?:"(?:[^"]|"")*"|[\p{L}\p{N}_]+|[^\s])/u.exec(doc.sliceString(from, from + 200))
      return {
        from,
        to: Math.min(doc.length, from + (word?.[0].length ?? 0)),
        severity: d.severity ?? 'error',
        message: visible(d.hint ? `${d.message}\n${d.hint}` : d.message),
      }
    })
    this.view.dispatch(setDiagnostics(this.view.state, marks))
  }

  destroy() {
    this.view.destroy()
  }
}

/** beside places what is said of a completion: next to the list, or below it, never over its entries. */
function beside(_: EditorView, list: Rect, option: Rect, info: Rect, space: Rect) {
  const [left, right] = [list.left - space.left, space.right - list.right]
  const room = Math.min(400, Math.max(left, right))
  if (room >= 160) {
    const top = Math.max(space.top, Math.min(option.top, space.bottom - (info.bottom - info.top))) - list.top
    return {
      style: `top: ${top}px; max-width: ${room}px`,
      class: `cm-completionInfo-${left > right ? 'left' : 'right'}`,
    }
  }
  const below = space.bottom - list.bottom >= Math.min(info.bottom - info.top, list.top - space.top)
  return {
    style: `${below ? 'top' : 'bottom'}: ${list.bottom - list.top}px; left: 0; max-width: ${list.right - list.left}px`,
  }
}

/**
 * typeOver types over a selection. Chromium would keep the style of what it replaces, as an attribute
 * that the page's policy refuses; so the text goes into the editor's state and not into its elements.
 */
function typeOver(e: InputEvent, view: EditorView): boolean {
  const { from, to, empty } = view.state.selection.main
  const text = e.data
  if (e.inputType !== 'insertText' || text === null || empty || view.composing) return false
  e.preventDefault()
  const insert = () =>
    view.state.update(view.state.replaceSelection(text), { userEvent: 'input.type', scrollIntoView: true })
  if (!view.state.facet(EditorView.inputHandler).some(handle => handle(view, from, to, text, insert)))
    view.dispatch(insert())
  return true
}

/** pathAt is the path of keys that leads to a position in YAML. The end of a line belongs to its key. */
function pathAt(state: EditorState, at: number): string[] {
  const tree = ensureSyntaxTree(state, at, 100)
  const keys = (side: -1 | 1): string[] => {
    const path: string[] = []
    for (let node = tree?.resolveInner(at, side) ?? null; node; node = node.parent) {
      const key = node.name === 'Pair' ? node.getChild('Key') : null
      if (key) path.unshift(state.sliceDoc(key.from, key.to))
    }
    return path
  }
  const before = keys(-1)
  return before.length > 0 ? before : keys(1)
}

function tooltip(props: { current: EditorProps }, view: EditorView, at: number): Tooltip | null {
  const text = props.current.describe?.(pathAt(view.state, at))
  if (!text) return null
  const dom = document.createElement('div')
  dom.textContent = text
  return { pos: at, above: true, create: () => ({ dom }) }
}

/** place is the offset of a line and a column. CodeMirror counts UTF-16 units, the API characters. */
function place(doc: Text, line: number, column: number): number {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines))
  let offset = 0
  for (const c of at.text) {
    if (--column < 1) break
    offset += c.length
  }
  return at.from + offset
}
