// A model provider for tests: POST /v1/chat/completions in OpenAI's form, as a stream. A test says what
// each request is answered with, and when each piece leaves.
import { createServer } from 'node:http'

/**
 * startProvider starts one. script is a function of the request that yields the pieces of the answer:
 * { say }, { think }, { call: { name, arguments } }, { error }, { cut: true }, or a promise to wait for.
 */
export async function startProvider(t, script) {
  const requests = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    const asked = JSON.parse(body)
    requests.push(asked)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    const send = (delta, finish = null, more = {}) =>
      response.write(
        `data: ${JSON.stringify({
          id: 'chatcmpl-1',
          object: 'chat.completion.chunk',
          created: 1,
          model: asked.model,
          choices: delta ? [{ index: 0, delta, finish_reason: finish }] : [],
          ...more,
        })}\n\n`,
      )
    let [calls, said] = [0, 0]
    for await (const piece of script(asked)) {
      if (response.destroyed) return
      if (piece?.say !== undefined) {
        said++
        if (!send({ content: piece.say })) await drained(response)
      }
      if (piece?.think !== undefined) send({ reasoning_content: piece.think })
      if (piece?.call) {
        const id = `call_${requests.length}_${calls}`
        const { name, arguments: args } = piece.call
        send({
          tool_calls: [
            { index: calls++, id, type: 'function', function: { name, arguments: JSON.stringify(args ?? {}) } },
          ],
        })
      }
      if (piece?.error) response.write(`data: ${JSON.stringify({ error: piece.error })}\n\n`)
      if (piece?.cut) return void response.socket.end()
    }
    send({}, calls > 0 ? 'tool_calls' : 'stop')
    const usage = { prompt_tokens: Math.ceil(body.length / 4), completion_tokens: said + 20 * calls }
    send(null, null, {
      usage: {
        ...usage,
        total_tokens: usage.prompt_tokens + usage.completion_tokens,
        prompt_tokens_details: { cached_tokens: 64 },
      },
    })
    response.end('data: [DONE]\n\n')
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${server.address().port}/v1`, requests }
}

/** drained waits until more can be written, or nothing can. */
function drained(response) {
  return new Promise(done => {
    const on = () => {
      response.off('drain', on)
      response.off('close', on)
      done()
    }
    response.on('drain', on)
    response.on('close', on)
  })
}

/** lastUser is the last text of the user in a request. */
export const lastUser = asked => asked.messages.findLast(m => m.role === 'user')?.content ?? ''

/** results are the results of tools that a request ends with. */
export const results = asked => {
  const at = asked.messages.findLastIndex(m => m.role !== 'tool')
  return asked.messages.slice(at + 1).map(m => m.content)
}
