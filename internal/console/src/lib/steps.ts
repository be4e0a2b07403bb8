// Work that takes seconds, such as sorting a million texts, is a generator that yields every few thousand
// rows, so that the page answers in between.

/** How many rows a step has. */
export const step = 4096
const slice = 8 // ms of steps, between which the page draws

/** finish takes all steps at once. */
export function finish<T>(steps: Generator<void, T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

/** inSteps takes the steps between what the page has to do. It returns what ends them early. */
export function inSteps<T>(steps: Generator<void, T>, ready: (value: T) => void): () => void {
  const channel = new MessageChannel()
  const more = () => {
    for (const end = performance.now() + slice; performance.now() < end;) {
      const { done, value } = steps.next()
      if (done) return ready(value)
    }
    channel.port2.postMessage(null) // sooner than a timer, and after what the page has to do
  }
  channel.port1.onmessage = more
  more()
  return () => channel.port1.close()
}
