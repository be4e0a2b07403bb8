// A result as a file. CSV, JSON and Arrow come from the API, which runs the statement again and sends
// all rows; where the browser can, they go to the disk as they arrive.
import { useState } from 'preact/hooks'
import { ApiError, fetchApi } from '../lib/api.ts'
import { type Run, request } from '../lib/sqlrun.ts'
import { count } from '../lib/format.ts'
import { shown } from '../lib/text.ts'
import { Failure } from '../ui/parts.tsx'

const forms = [
  { name: 'CSV', ending: 'csv', type: 'text/csv' },
  { name: 'JSON', ending: 'json', type: 'application/json' },
  { name: 'Arrow', ending: 'arrows', type: 'application/vnd.apache.arrow.stream' },
] as const

type Form = (typeof forms)[number]

export function Download({ run }: { run: Run }) {
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
          title={`Run the statement again and save all rows as ${f.name}`}
          onClick={() => save(f.name, () => stream(run, f))}
        >
          {busy === f.name ? 'Saving…' : f.name}
        </button>
      ))}
      <button
        type="button"
        disabled={busy !== '' || run.state === 'running'}
        title="Save the rows that are loaded as Parquet"
        onClick={() =>
          save('Parquet', async () => {
            const { parquet } = await import('../lib/arrow-parquet.ts')
            const file = parquet(run.result)
            offer(new Blob([file.bytes], { type: 'application/vnd.apache.parquet' }), 'result.parquet')
            const notes = [
              run.result.end !== 'complete' && `It has the ${count(run.result.rows)} rows that are loaded.`,
            ]
            for (const [from, to] of file.renamed)
              notes.push(`A second column “${shown(from, 40)}” is called “${shown(to, 40)}” in it.`)
            setNote(notes.filter(Boolean).slice(0, 5).join(' '))
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

interface Picker {
  showSaveFilePicker?: (o: { suggestedName: string }) => Promise<{ createWritable: () => Promise<WritableStream> }>
}

async function stream(run: Run, form: Form) {
  const name = `result.${form.ending}`
  // The picker must be opened by the click itself, before anything is waited for.
  const file = await (window as Picker).showSaveFilePicker?.({ suggestedName: name })
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
