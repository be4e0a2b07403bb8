// Server-sent events from the body of a response (HTML Living Standard, 9.2.6). EventSource cannot
// send a key in a header.

export interface ServerEvent {
  event: string
  data: string
  id: string
}

const maxBuffer = 8 << 20 // characters of one event

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let [rest, event, data, id] = ['', '', [] as string[], '']
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += value
      if (rest.length > maxBuffer) throw new Error('an event of the stream is too long')
      const lines = rest.split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop()!
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0 || event) yield { event: event || 'message', data: data.join('\n'), id }
          ;[event, data] = ['', []]
          continue
        }
        if (line.startsWith(':')) continue
        const colon = line.indexOf(':')
        const field = colon < 0 ? line : line.slice(0, colon)
        const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
        if (field === 'event') event = text
        else if (field === 'data') data.push(text)
        else if (field === 'id') id = text
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
