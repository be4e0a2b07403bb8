// A result of a million rows: how soon the first rows are there, what it takes, how it scrolls.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openBrowser, openPage, serve } from './lib.mjs'

const rows = 1_000_000

test('a result of a million rows', async t => {
  const spiced = await serve(t, { from: 'examples/quickstart' })
  const browser = await openBrowser(t, ['--enable-precise-memory-info', '--js-flags=--expose-gc'])
  const columns = Array.from({ length: 18 }, (_, i) => `i * ${i + 1} AS c${i}`).join(', ')
  const sql = `SELECT i, 'row ' || i AS name, ${columns} FROM range(${rows}) t(i)`
  const page = await openPage(t, browser, `${spiced.url}/ui/sql?q=${encodeURIComponent(sql)}`)
  await page.locator('.code-editor:not([hidden])').waitFor()

  const session = await browser.newBrowserCDPSession()
  /** Memory of the largest renderer: its heap, and the buffers of the result, which are no part of that. */
  const resident = async () => {
    await page.evaluate(() => gc())
    const { processInfo } = await session.send('SystemInfo.getProcessInfo')
    const sizes = processInfo
      .filter(p => p.type === 'renderer')
      .map(p => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${p.id}/status`, 'utf8'))[1]) / 1024)
    return Math.max(...sizes)
  }
  const before = await resident()

  const first = await page.evaluate(
    () =>
      new Promise(done => {
        const begin = performance.now()
        const seen = new MutationObserver(() => {
          if (!document.querySelector('.result-grid .cell.number')) return
          seen.disconnect()
          done(performance.now() - begin)
        })
        seen.observe(document.body, { childList: true, subtree: true })
        ;[...document.querySelectorAll('button')].find(b => b.textContent.startsWith('Run')).click()
      }),
  )
  await page.locator('main p[role=status]', { hasText: '1,000,000 rows, 20 columns' }).waitFor()
  assert.equal(await page.getByText('what the page holds at most').count(), 0, 'all rows are there')
  const took = await page.locator('main p[role=status]').first().textContent()
  const grown = (await resident()) - before
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1048576)

  await page.locator('.result-grid').hover()
  await page.evaluate(() => {
    window.frames_ = []
    let last = performance.now()
    const frame = now => {
      window.frames_.push(now - last)
      last = now
      if (!window.stop_) requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })
  // Time of the processor, which does not depend on what else the machine does.
  const tab = await page.context().newCDPSession(page)
  await tab.send('Performance.enable', { timeDomain: 'threadTicks' })
  const busy = async () =>
    (await tab.send('Performance.getMetrics')).metrics.find(m => m.name === 'TaskDuration').value * 1000
  const begun = await busy()
  for (let i = 0; i < 120; i++) await page.mouse.wheel(0, 300)
  const work = (await busy()) - begun
  const frames = await page.evaluate(() => ((window.stop_ = true), window.frames_.slice(1).sort((a, b) => a - b)))
  const p95 = frames[Math.floor(frames.length * 0.95)]

  t.diagnostic(`first rows after ${first.toFixed(0)} ms; all: ${took}`)
  t.diagnostic(`memory grew by ${grown.toFixed(0)} MiB, of it ${heap.toFixed(0)} MiB JavaScript heap in all`)
  const each = work / frames.length
  t.diagnostic(
    `scrolling: ${each.toFixed(1)} ms of the main thread for a frame; ${frames.length} frames, p95 ${p95.toFixed(1)} ms, longest ${frames.at(-1).toFixed(1)} ms`,
  )

  // Each row can be reached: by the keyboard, by the wheel near the end, and by the scroll bar.
  const grid = page.getByRole('grid')
  await grid.focus()
  await page.keyboard.press('Control+End')
  await page.getByRole('rowheader', { name: '1,000,000', exact: true }).waitFor()
  await page.keyboard.press('PageUp')
  await page.keyboard.press('ArrowDown')
  await grid.evaluate(g => (g.scrollTop = g.scrollHeight / 2))
  await page.waitForFunction(() => {
    const row = Number(document.querySelector('.result-grid .line')?.getAttribute('aria-rowindex'))
    return row > 490_000 && row < 510_000
  })
  const at = () =>
    page.evaluate(() => Number(document.querySelector('.result-grid .line').getAttribute('aria-rowindex')))
  const middle = await at()
  await page.mouse.wheel(0, 260)
  await page.waitForFunction(
    row => Number(document.querySelector('.result-grid .line').getAttribute('aria-rowindex')) === row + 10,
    middle,
  )
  await grid.focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+c')
  await page.getByText('Not copied: more than 16 MiB are too much for the clipboard').waitFor()
  await page.keyboard.press('Control+Home')
  await page.getByRole('gridcell', { name: 'row 0', exact: true }).waitFor()

  // A million texts are sorted in steps, between which the page answers.
  await page.evaluate(() => {
    window.longest_ = 0
    new PerformanceObserver(list => {
      for (const task of list.getEntries()) window.longest_ = Math.max(window.longest_, task.duration)
    }).observe({ type: 'longtask' })
  })
  const sorting = Date.now()
  await page.getByRole('columnheader', { name: 'name VARCHAR' }).click()
  await page.getByText('Sorting…').waitFor()
  await page.getByText('Sorting…').waitFor({ state: 'detached' })
  const longest = await page.evaluate(() => window.longest_)
  t.diagnostic(`sorting texts took ${Date.now() - sorting} ms, its longest task ${longest} ms`)
  assert.ok(longest <= 1000, `a task of ${longest} ms while texts are sorted`)
  await page.getByRole('columnheader', { name: 'i BIGINT' }).click()
  await page.getByRole('columnheader', { name: 'i BIGINT' }).click()
  await page.getByRole('gridcell', { name: 'row 999999', exact: true }).waitFor()

  assert.ok(first <= 500, `first rows after ${first} ms`)
  assert.ok(grown <= 300, `memory grew by ${grown} MiB`)
  assert.ok(each <= 16, `${each} ms of the main thread for a frame`)

  await t.test('the rest of a larger result is reported', async () => {
    await page.getByRole('textbox', { name: 'Statements' }).click()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText('SELECT i FROM range(3000000) t(i)')
    await page.keyboard.press('Control+Enter')
    await page.getByText('These are the first 1,000,000 rows').waitFor()
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText("SELECT repeat('x', 1000000) AS big FROM range(400) t(i)")
    await page.keyboard.press('Control+Enter')
    await page.getByText('These are the rows in the first 256 MiB').waitFor()
  })
})
