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
  let [rest, event, data, id, fresh] = ['', '', [] as string[], '', false]
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
          // A block with only an id carries the position in the stream.
          if (data.length > 0 || event || fresh)
            yield { event: event || (data.length > 0 ? 'message' : ''), data: data.join('\n'), id }
          ;[event, data, fresh] = ['', [], false]
          continue
        }
        if (line.startsWith(':')) continue
        const colon = line.indexOf(':')
        const field = colon < 0 ? line : line.slice(0, colon)
        const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
        if (field === 'event') event = text
        else if (field === 'data') data.push(text)
        else if (field === 'id') [id, fresh] = [text, true]
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
