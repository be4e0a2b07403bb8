// A load or refresh of a dataset that runs.
import { bytes, percent } from '../lib/format.ts'
import { shown } from '../lib/text.ts'

/** What GET /v1/datasets?status=true says of a dataset. */
export interface DatasetStatus {
  name: string
  status?: string
  loaded_bytes?: number
  total_bytes?: number
  /** From 0 to 1, if it is known. */
  progress?: number
  error?: string
}

export const statusPath = '/v1/datasets?status=true'

/** isLoading reports whether a load or refresh of the dataset runs. */
export const isLoading = (d: DatasetStatus | undefined): d is DatasetStatus =>
  d?.status === 'Initializing' || d?.status === 'Refreshing'

/** LoadProgress shows how much is loaded; a bar without a value moves until that is known. */
export function LoadProgress({ dataset: d }: { dataset: DatasetStatus }) {
  const verb = d.status === 'Refreshing' ? 'Refreshing' : 'Loading'
  return (
    <div class="row">
      <progress
        class="grow"
        aria-label={`${verb} ${shown(d.name, 80)}`}
        {...(d.progress != null ? { value: d.progress } : {})}
      />
      <span class="soft small">
        {verb}
        {d.progress != null && ` ${percent(d.progress)}`}
        {d.loaded_bytes != null && `, ${bytes(d.loaded_bytes)}`}
        {d.loaded_bytes != null && d.total_bytes != null && ` of ${bytes(d.total_bytes)}`}
      </span>
    </div>
  )
}
