// The problems that the last load of the Spicepod found (GET /v1/status).
import { api, type Problem } from './api.ts'
import { useLoad } from './load.ts'

export function useProblems(): Problem[] {
  const status = useLoad(
    signal => api<{ problems?: Problem[] }[]>('/v1/status', { signal }),
    [],
    ['generation', 'status'],
  )
  return status.error ? [] : (status.data?.flatMap(c => c.problems ?? []) ?? [])
}

/**
 * errorOf is the error of a component, such as "function f". What is served is then its last good version,
 * if there is one.
 */
export const errorOf = (problems: Problem[], component: string): Problem | undefined =>
  problems.find(p => p.severity === 'error' && p.component === component)
