// 200 tokens a second, of five agents and then of the model that asked them, leave time for 60 frames a
// second. What counts is how long the page works for a frame: a machine that is busy elsewhere shows
// fewer frames, and the page is not slower for it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, screenshot, serve } from './lib.mjs'
import { results, startProvider } from './provider.mjs'

const agents = ['one', 'two', 'three', 'four', 'five']
const seconds = 5
const budget = 1000 / 60 // ms of a frame

const pod = url => `
version: v2
kind: Spicepod
name: speed
runtime:
  functions: { enabled: true }
functions:
  - name: word_count
    from: sql
    description: How many words a text has.
    signature: { args: [{ name: text, type: string }], returns: int64 }
    body: "len(string_split(text, ' '))"
models:
  - name: assistant
    from: openai:gpt-test
    params: { endpoint: "${url}", tools: word_count }
agents:
${agents
  .map(
    a =>
      `  - { name: ${a}, model: assistant, description: Agent ${a}., instructions: You are ${a}., tools: [word_count], events: all }`,
  )
  .join('\n')}
  - { name: leader, model: assistant, description: Leads., instructions: You are leader., agents: [${agents}], limits: { concurrency: 5 } }
`

const words =
  'a **word** of an `answer` that grows, with [a link](https://example.org), a list\n- an item\n\nand more. '.split(
    /(?<= )/,
  )

/** stream yields so many words a second, on time even if the timers are late. */
async function* stream(rate) {
  const began = performance.now()
  for (let sent = 0; sent < rate * seconds;) {
    await new Promise(done => setTimeout(done, 5))
    for (; sent < (rate * (performance.now() - began)) / 1000; sent++) yield { say: words[sent % words.length] }
  }
}

test('200 tokens a second', async t => {
  const provider = await startProvider(t, async function* (asked) {
    const who = /You are (\w+)/.exec(JSON.stringify(asked.messages))[1]
    const answered = results(asked).length > 0
    if (who === 'leader' && !answered) {
      yield {
        call: { name: 'delegate_parallel', arguments: { tasks: agents.map(agent => ({ agent, task: 'work' })) } },
      }
    } else if (who === 'leader') yield* stream(200)
    else if (!answered) for (let i = 0; i < 8; i++) yield { call: { name: 'word_count', arguments: { text: 'a b' } } }
    else yield* stream(200 / agents.length)
  })
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(provider.url) } })
  const browser = await openBrowser(t)
  const page = await openPage(t, browser, spiced.url + '/ui/chat?model=leader&q=go')
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  for (const agent of agents) await page.getByRole('button', { name: `${agent} agent` }).click()

  /** frames measures the frames of a stretch: how far apart they are, and how long the page works for each. */
  const frames = async (what, end) => {
    const busy = async () =>
      (await cdp.send('Performance.getMetrics')).metrics.find(m => m.name === 'TaskDuration').value
    const before = await busy()
    const gaps = await page.evaluate(
      ms =>
        new Promise(done => {
          const gaps = []
          let last = performance.now()
          const end = last + ms
          const frame = now => {
            gaps.push(now - last)
            last = now
            if (now < end) requestAnimationFrame(frame)
            else done(gaps.slice(1))
          }
          requestAnimationFrame(frame)
        }),
      end,
    )
    const work = (1000 * ((await busy()) - before)) / gaps.length
    gaps.sort((a, b) => a - b)
    const p95 = gaps[Math.floor(gaps.length * 0.95)]
    t.diagnostic(
      `${what}: ${gaps.length} frames, p95 ${p95.toFixed(1)} ms apart, ${work.toFixed(1)} ms of work for each`,
    )
    assert.ok(work < budget / 2, `${what}: a frame takes ${work} ms of work`)
  }
  await page.locator('.timeline .detail pre').nth(9).waitFor()
  await frames('five agents', 3000)
  await screenshot(page, 'chat-speed')
  await page.locator('.markdown li').first().waitFor()
  await frames('the answer', 3000)
  await page.getByText(/first text after/).waitFor()
})
