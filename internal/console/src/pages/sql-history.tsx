// The statements that were run in this tab.
import { useState } from 'preact/hooks'
import { clock, count, millis, plural } from '../lib/format.ts'
import { forget, history } from '../lib/sqlhistory.ts'
import { shown } from '../lib/text.ts'
import { Badge, Empty, Modal } from '../ui/parts.tsx'

const most = 100 // entries that are shown

export function History({ choose }: { choose: (sql: string) => void }) {
  const [open, setOpen] = useState(false)
  const [words, setWords] = useState('')
  const all = words.toLowerCase().split(/\s+/).filter(Boolean)
  const found = history.value.filter(e => all.every(w => e.sql.toLowerCase().includes(w)))
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        History
      </button>
      {open && (
        <Modal title="History" close={() => setOpen(false)}>
          <div class="row">
            <input
              type="search"
              class="grow"
              placeholder="Filter"
              aria-label="Filter the history"
              value={words}
              onInput={e => setWords(e.currentTarget.value)}
            />
            <button type="button" class="danger" disabled={history.value.length === 0} onClick={forget}>
              Clear
            </button>
          </div>
          <p class="soft small">Kept in this tab only, until it is closed. Values of parameters are not kept.</p>
          {found.length === 0 && (
            <Empty>{history.value.length === 0 ? 'No statement was run yet.' : 'None has these words.'}</Empty>
          )}
          <ul class="sql-history">
            {found.slice(0, most).map(e => (
              <li key={e.at + e.sql}>
                <button type="button" class="plain" onClick={() => (choose(e.sql), setOpen(false))}>
                  <code class="foreign">{shown(e.sql, 300)}</code>
                  <span class="soft small">
                    {clock(e.at)}, {millis(e.took)}
                    {e.rows !== null && `, ${plural(e.rows, 'row')}`}{' '}
                    {e.state !== 'done' && <Badge tone="bad">{e.state}</Badge>}
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {found.length > most && <p class="soft small">{count(found.length - most)} more: filter them.</p>}
        </Modal>
      )}
    </>
  )
}
