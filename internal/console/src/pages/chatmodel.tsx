// What a model is, and what its tools cost.
import type { Model } from '../lib/chat.ts'
import { count, plural } from '../lib/format.ts'
import { visible } from '../lib/text.ts'
import { Badge, Foreign } from '../ui/parts.tsx'

export function ModelNote({ model, failed }: { model: Model; failed: Model[] }) {
  const others = failed.filter(m => m !== model)
  return (
    <div class="stack small model-note">
      {model.error && (
        <div class="note bad" role="alert">
          <strong>
            <Foreign text={model.id} /> did not load.
          </strong>
          <span class="foreign">{visible(model.error)}</span>
        </div>
      )}
      <div class="row">
        <Badge>
          <Foreign text={model.owned_by} max={60} />
        </Badge>
        {model.description && <Foreign text={model.description} />}
      </div>
      {model.tools && <ToolsLine tools={model.tools} />}
      {others.length > 0 && (
        <details>
          <summary>{plural(others.length, 'other model')} did not load</summary>
          <dl class="definition">
            {others.map(m => (
              <>
                <dt>
                  <Foreign text={m.id} />
                </dt>
                <dd>
                  <Foreign text={m.error!} max={1000} />
                </dd>
              </>
            ))}
          </dl>
        </details>
      )}
    </div>
  )
}

/** ToolsLine says what the tools cost in every request, against what all of them would cost. */
function ToolsLine({ tools: t }: { tools: NonNullable<Model['tools']> }) {
  const sent = t.advertised?.length ?? 0
  if (t.mode === 'none')
    return (
      <span class="soft">
        It has no tools of the runtime: <Foreign text={t.reason} />.
      </span>
    )
  const saves = t.direct_tokens !== undefined && t.direct_tokens > t.definition_tokens
  return (
    <details>
      <summary>
        {sent >= t.count ? plural(t.count, 'tool') : `${count(sent)} definitions for ${plural(t.count, 'tool')}`}
        {`, about ${count(t.definition_tokens)} tokens in every request`}
        {saves && ` instead of ${count(t.direct_tokens)}`} <Badge>{t.mode}</Badge>
      </summary>
      <p class="soft">
        <Foreign text={t.reason} />
      </p>
      <p>
        {t.advertised?.map(tool => (
          <>
            <code class="foreign">
              <Foreign text={tool} max={80} />
            </code>{' '}
          </>
        ))}
      </p>
    </details>
  )
}
