// Datasets while they load, are refreshed, fail and go away, from a source that answers when the test says.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import { accessible, later, openBrowser, openPage, screenshot, serve, until } from './lib.mjs'

/** source serves a CSV of which it holds the second half back until goOn is called. */
async function source(t) {
  const first = 'id,name\n1,one\n'
  const held = []
  const state = { hold: false, status: 200, rest: '2,two\n', held: () => held.length > 0 }
  state.goOn = () => {
    for (const send of held.splice(0)) send()
  }
  const server = createServer((_, response) => {
    const { hold, status, rest } = state
    response.writeHead(status, { 'Content-Type': 'text/csv', 'Content-Length': first.length + rest.length })
    response.write(first)
    if (hold) held.push(() => response.end(rest))
    else response.end(rest)
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  later(t, () => (state.goOn(), server.closeAllConnections(), server.close()))
  state.url = `http://127.0.0.1:${server.address().port}/items.csv`
  return state
}

const pod = (url, more = '') => `version: v1
kind: Spicepod
name: data
runtime: { dataset_load_parallelism: 2 }
datasets:
  - { name: items, from: '${url}', acceleration: { enabled: true } }
${more}`

test('a refresh is followed with its progress, and a source that fails is reported', async t => {
  const items = await source(t)
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(items.url) } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/data/items', { allowed: /status of 400/ })
  await page.getByText('2', { exact: true }).first().waitFor()
  await page.getByText('Live', { exact: true }).waitFor()

  items.hold = true
  items.rest = '2,two\n3,three\n'
  const refresh = page.getByRole('button', { name: 'Refresh' })
  await refresh.click()
  const bar = page.getByRole('progressbar', { name: 'Refreshing items' })
  await bar.waitFor()
  await page.getByText(/Refreshing 50 %, 14 B of 28 B/).waitFor()
  assert.ok(await refresh.isDisabled(), 'a second refresh begins')
  await screenshot(page, 'refreshing')
  await accessible(page, 'a refresh that runs')
  await page.getByRole('link', { name: 'All data' }).click()
  await page.getByRole('row', { name: /items/ }).getByText('refreshing').waitFor()
  await page.goBack()
  await bar.waitFor()
  items.hold = false
  items.goOn()
  await bar.waitFor({ state: 'detached' })
  await page.locator('.figures').getByText('3', { exact: true }).waitFor()

  items.status = 503
  await refresh.click()
  const fault = page.getByRole('alert').filter({ hasText: '503' })
  await fault.waitFor()
  await page.getByRole('tab', { name: 'Sample' }).click()
  await page.getByRole('cell', { name: 'three' }).waitFor() // the rows of before are served
  await screenshot(page, 'refresh-failed')
  items.status = 200
  await refresh.click()
  await fault.waitFor({ state: 'detached' })

  spiced.write('spicepod.yaml', pod(items.url).replaceAll('items,', 'others,'))
  await page.getByText('There is no dataset or view “items”.').waitFor()
})

test('a dataset that is not there, and one that loads', async t => {
  const items = await source(t)
  const slow = await source(t)
  slow.hold = true
  const gone = '  - { name: gone, from: "file:gone.csv" }\n'
  const late = `  - { name: late, from: '${slow.url}', acceleration: { enabled: true } }\n`
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(items.url, gone) } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/data/gone')
  await page.getByRole('alert').filter({ hasText: 'gone.csv' }).waitFor()
  await screenshot(page, 'unavailable')
  await accessible(page, 'a dataset that is not there')
  await page.goto(spiced.url + '/ui/')
  await page.getByText('Live', { exact: true }).waitFor()
  spiced.write('spicepod.yaml', pod(items.url, gone + late))
  await until(slow.held, 'the source is read')
  await page.getByRole('progressbar', { name: 'Loading late' }).waitFor()
  await page.getByRole('link', { name: 'late' }).click()
  await page.getByRole('progressbar', { name: 'Loading late' }).waitFor()
  await screenshot(page, 'loading')
  await accessible(page, 'a dataset that loads')
  slow.hold = false
  slow.goOn()
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await page.getByRole('tab', { name: 'Sample' }).click()
  await page.getByRole('cell', { name: 'two' }).waitFor()
})
