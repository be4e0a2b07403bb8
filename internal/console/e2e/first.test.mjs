// What the first page costs: the bytes that it needs, and the time until it can be used, without a cache.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, serve } from './lib.mjs'

test('the first page', async t => {
  const spiced = await serve(t, { from: 'examples/quickstart' })
  const browser = await openBrowser(t)
  const times = []
  let bytes = 0
  for (let i = 0; i < 5; i++) {
    const context = await browser.newContext() // with an empty cache
    const page = await context.newPage()
    await page.goto(spiced.url + '/ui/')
    await page.getByText('The last load found no problem.').waitFor()
    // From the navigation until the list of problems is drawn, on the page's own clock.
    const [time, needed] = await page.evaluate(() => [
      performance.now(),
      performance
        .getEntriesByType('resource')
        .filter(r => r.name.includes('/ui/') && r.startTime < performance.now())
        .reduce((sum, r) => sum + r.encodedBodySize, 0),
    ])
    times.push(time)
    bytes = Math.max(bytes, needed)
    await context.close()
  }
  times.sort((a, b) => a - b)
  t.diagnostic(`usable after ${times.map(x => x.toFixed(0)).join(', ')} ms; ${bytes} bytes of files until then`)
  assert.ok(times[0] <= 1000, `the fastest of five took ${times[0]} ms`)
  assert.ok(bytes <= 150_000, `${bytes} bytes are needed`)
})
