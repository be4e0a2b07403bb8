// A result as a file. CSV, JSON and Arrow come from the API, which runs the statement again and sends
// all rows; where the browser can, they go to the disk as they arrive. A statement that does more than
// read is never run again: its file is made of the rows that are loaded.
import { useState } from 'preact/hooks'
import { ApiError, fetchApi } from '../lib/api.ts'
import { linesOf } from '../lib/result-copy.ts'
import { type Run, refusalOfRepeat, request } from '../lib/sqlrun.ts'
import { count, plural } from '../lib/format.ts'
import { shown } from '../lib/text.ts'
import { Failure } from '../ui/parts.tsx'

const forms = [
  { name: 'CSV', ending: 'csv', type: 'text/csv' },
  { name: 'JSON', ending: 'json', type: 'application/json' },
  { name: 'Arrow', ending: 'arrows', type: 'application/vnd.apache.arrow.stream' },
] as const

type Form = (typeof forms)[number]

export function Download({ run }: { run: Run }) {
  void run.version.value // the run is the same object when it has ended
  const [busy, setBusy] = useState('')
  const [error, setError] = useState<Error>()
  const [note, setNote] = useState('')

  const save = async (name: string, work: () => Promise<void>) => {
    setBusy(name)
    setError(undefined)
    setNote('')
    try {
      await work()
    } catch (cause) {
      if ((cause as Error).name !== 'AbortError') setError(cause as Error)
    }
    setBusy('')
  }
  return (
    <>
      <span class="soft small">Download</span>
      {forms.map(f => (
        <button
          key={f.name}
          type="button"
          disabled={busy !== ''}
          title={`Save as ${f.name}: all rows, for which a statement that only reads runs again, or else the rows that are loaded`}
          onClick={() =>
            save(f.name, async () => {
              const why = await refusalOfRepeat(run.job)
              if (!why) return stream(run, f)
              await saveLoaded(run, f, why)
              setNote(`The statement was not run again (${why}). ${loaded(run)}`)
            })
          }
        >
          {busy === f.name ? 'Saving…' : f.name}
        </button>
      ))}
      <button
        type="button"
        disabled={busy !== '' || run.state === 'running'}
        title={run.state === 'running' ? 'Rows still arrive' : 'Save the rows that are loaded as Parquet'}
        onClick={() =>
          save('Parquet', async () => {
            const { parquet } = await import('../lib/arrow-parquet.ts')
            const file = parquet(run.result)
            offer(new Blob([file.bytes], { type: 'application/vnd.apache.parquet' }), 'result.parquet')
            const notes = [run.result.end !== 'complete' && loaded(run)]
            for (const [from, to] of file.renamed)
              notes.push(`A second column “${shown(from, 40)}” is called “${shown(to, 40)}” in it.`)
            const most = 5
            if (notes.length > most) notes.splice(most, Infinity, `${count(notes.length - most)} more are renamed.`)
            setNote(notes.filter(Boolean).join(' '))
          })
        }
      >
        {busy === 'Parquet' ? 'Saving…' : 'Parquet'}
      </button>
      <span class="soft small" role="status">
        {note}
      </span>
      <Failure error={error} />
    </>
  )
}

const loaded = (run: Run) => `It has the ${plural(run.result.rows, 'row')} that are loaded.`

/** saveLoaded makes the file of the rows that are loaded, in steps between which the page answers. */
async function saveLoaded(run: Run, form: Form, why: string) {
  const { result } = run
  if (form.name === 'Arrow')
    throw new ApiError(0, 'refused', `Not saved: ${why}, so it is not run again for a file.`, 'choose another form')
  const rows = Uint32Array.from({ length: result.rows }, (_, i) => i)
  const parts: string[] = []
  let [part, end] = ['', performance.now() + 20]
  for (const line of linesOf(result, { rows, columns: result.columns.map((_, i) => i) }, form.name)) {
    part += line
    if (part.length < 65_536) continue
    parts.push(part)
    part = ''
    if (performance.now() < end) continue
    await new Promise(done => setTimeout(done))
    end = performance.now() + 20
  }
  offer(new Blob([...parts, part], { type: form.type }), `result.${form.ending}`)
}

interface Picker {
  showSaveFilePicker?: (o: { suggestedName: string }) => Promise<{ createWritable: () => Promise<WritableStream> }>
}

async function stream(run: Run, form: Form) {
  const name = `result.${form.ending}`
  // A browser opens the picker within seconds of a click; later, the file is offered as a download.
  const file = await (window as Picker).showSaveFilePicker?.({ suggestedName: name }).catch((cause: Error) => {
    if (cause.name === 'AbortError') throw cause
    return undefined
  })
  const response = await fetchApi('/v1/sql', request(run.job, form.type))
  try {
    if (file) await response.body!.pipeTo(await file.createWritable())
    else offer(await response.blob(), name)
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause // what the browser throws when the connection is closed
    throw new ApiError(
      0,
      'incomplete',
      'Nothing was saved: the connection was closed before the end of the result.',
      'That happens when the statement fails while rows are sent, or when the runtime stops.',
    )
  }
}

function offer(blob: Blob, name: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
