// What a page with 10,000 tools costs: the time of the page's main thread on its processor for each
// key in the filter and each step of scrolling. It is the processor's time, so that other work on the
// machine does not count.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, serve } from './lib.mjs'

const frame = 16 // ms

/** pod declares n functions. */
function pod(n) {
  const words = 'count sum mean median distance price customer order invoice ticket weather airport flight'.split(' ')
  const lines = [
    'version: v1',
    'kind: Spicepod',
    'name: many',
    'runtime: { functions: { enabled: true } }',
    'functions:',
  ]
  for (let i = 0; i < n; i++) {
    const [a, b] = [words[i % words.length], words[(i * 7 + 3) % words.length]]
    lines.push(
      `  - name: ${a}_${b}_${String(i).padStart(5, '0')}`,
      '    from: sql',
      `    description: Computes the ${a} of a ${b}, number ${i}.`,
      '    signature: { args: [{ name: x, type: float64 }], returns: float64 }',
      `    body: x * ${i}`,
    )
  }
  return lines.join('\n') + '\n'
}

const quantile = (list, q) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(q * list.length))]

test('10,000 tools', async t => {
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(10_000) } })
  const browser = await openBrowser(t, ['--disable-smooth-scrolling'])
  const page = await openPage(t, browser, spiced.url + '/ui/tools')
  await page
    .getByRole('link', { name: /_\d{5}/ })
    .first()
    .waitFor()
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () =>
    (await cdp.send('Performance.getMetrics')).metrics.find(m => m.name === 'TaskDuration').value * 1000
  const drawn = () =>
    page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))))
  const idle = () => page.evaluate(() => new Promise(done => requestIdleCallback(done)))

  /** costs returns the time of each act. */
  const costs = async (acts, act) => {
    const list = []
    for (const a of acts) {
      await idle()
      const before = await busy()
      await act(a)
      await drawn()
      list.push((await busy()) - before)
    }
    return list
  }
  const report = (what, list) => {
    const [p50, p95, max] = [quantile(list, 0.5), quantile(list, 0.95), Math.max(...list)]
    t.diagnostic(`${what}: ${p50.toFixed(1)} ms, p95 ${p95.toFixed(1)} ms, longest ${max.toFixed(1)} ms`)
    return { p50, p95, max }
  }

  const search = page.locator('input[type=search]')
  const orders = ['Description', 'Owner', 'Name', 'Parameters']
  const round = async () => {
    await search.focus()
    const typed = report('a key in the filter', await costs([...'median of price order'], c => page.keyboard.type(c)))
    await search.fill('')
    await page.mouse.move(700, 500)
    const scrolled = report('a step of scrolling', await costs(Array(60).fill(300), y => page.mouse.wheel(0, y)))
    const choose = name => page.getByRole('button', { name, exact: true }).click()
    const sorted = report('an order', await costs(orders, choose))
    await page.getByRole('button', { name: 'Name', exact: true }).click()
    return typed.p95 <= frame && scrolled.p95 <= frame && Math.max(typed.max, scrolled.max) <= 50 && sorted.max <= 200
  }
  // Other work on the machine only adds, so one of three rounds has to be within the limits.
  assert.ok((await round()) || (await round()) || (await round()), 'no round was within the limits')
})
