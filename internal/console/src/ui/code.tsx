// Code in pages: an editor and a viewer with highlighting. CodeMirror is loaded when the first editor
// is shown; until then the text stands there as it is.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { CompletionSource } from '@codemirror/autocomplete'
import { visible } from '../lib/text.ts'
import type { Editor } from './editor.ts'
import { LongText } from './parts.tsx'
import './code.css'

export type Language = 'sql' | 'yaml' | 'json' | 'python'

/** A fault in the text. Lines and columns count from 1, columns in characters, as the API has them. */
export interface Diagnostic {
  line: number
  column: number
  message: string
  hint?: string
  severity?: 'error' | 'warning'
}

/** The part of the text that is selected, in UTF-16 units; it is empty where only the cursor stands. */
export interface Selection {
  from: number
  to: number
}

export interface EditorProps {
  language: Language
  value: string
  /** What the text is, for screen readers. */
  label: string
  onChange?: (value: string) => void
  readOnly?: boolean
  diagnostics?: Diagnostic[]
  /** Sources of completions, in addition to none: the editor has no words of its own. */
  completions?: CompletionSource[]
  /** What the key of YAML at a path means; it is shown when the mouse rests on it. */
  describe?: (path: string[]) => string | undefined
  /** The path of the key of YAML at the cursor. */
  onPath?: (path: string[]) => void
  /** Ctrl+Enter. */
  onRun?: (selection: Selection) => void
  /** The editor itself, for pages that move its cursor or insert text. */
  editor?: { current: Editor | undefined }
  /** A place in the text that the cursor is put to. */
  at?: { line: number; column: number } | undefined
  /** How many lines are shown at least and at most; more are scrolled to. */
  lines?: [number, number]
}

/** CodeEditor edits a text, or shows it with line numbers if readOnly is set. */
export function CodeEditor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null)
  const own = useRef<Editor | undefined>(undefined)
  const current = useRef(props)
  current.current = props
  const [state, setState] = useState<'loading' | 'ready' | 'failed'>('loading')
  const [min, max] = props.lines ?? [3, 24]

  useEffect(() => {
    let gone = false
    import('./editor.ts').then(
      ({ Editor }) => {
        if (gone) return
        own.current = new Editor(host.current!, current)
        if (props.editor) props.editor.current = own.current
        setState('ready')
      },
      () => gone || setState('failed'),
    )
    return () => {
      gone = true
      own.current?.destroy()
      own.current = undefined
      if (props.editor) props.editor.current = undefined
    }
  }, [props.language, props.readOnly])
  useEffect(() => own.current?.setValue(props.value), [props.value])
  useEffect(() => {
    if (props.at && state === 'ready') own.current?.go(props.at.line, props.at.column)
  }, [props.at, state])
  useEffect(() => own.current?.setDiagnostics(props.diagnostics ?? []), [props.diagnostics])
  useEffect(() => own.current?.setCompletions(props.completions ?? []), [props.completions])

  return (
    <>
      <div
        ref={host}
        class="code-editor"
        hidden={state !== 'ready'}
        style={{ '--min-lines': String(min), '--max-lines': String(max) }}
      />
      {state !== 'ready' && (
        <textarea
          class="mono"
          aria-label={props.label}
          value={props.value}
          rows={min}
          readOnly={props.readOnly}
          onInput={e => props.onChange?.(e.currentTarget.value)}
        />
      )}
    </>
  )
}

const most = 200_000 // characters that are highlighted in a viewer

/** Code shows a text with highlighting, without an editor. */
export function Code({ language, text }: { language: Language; text: string }) {
  const [parts, setParts] = useState<ComponentChildren>(null)
  useEffect(() => {
    let gone = false
    setParts(null)
    if (text.length <= most)
      import('./languages.ts').then(
        ({ highlighted }) =>
          gone ||
          setParts(
            highlighted(language, text).map(([part, classes], i) =>
              classes ? (
                <span key={i} class={classes}>
                  {visible(part)}
                </span>
              ) : (
                visible(part)
              ),
            ),
          ),
        () => {},
      )
    return () => void (gone = true)
  }, [language, text])
  if (text.length > most) return <LongText text={text} wrap={false} />
  return (
    <pre class="foreign code" tabIndex={0} dir="ltr">
      {parts ?? visible(text)}
    </pre>
  )
}
