// What goes wrong, as its user sees it: keys, faults of the Spicepod, a runtime that is gone and comes
// back, hostile texts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, openBrowser, openPage, screenshot, serve, until } from './lib.mjs'

const pod = (name, rest = '') => `version: v1
kind: Spicepod
name: ${name}
runtime: { functions: { enabled: true } }
${rest}`

const double = `functions:
  - name: double
    from: sql
    description: Twice a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
    tests:
      - { args: { x: 2 }, returns: 4 }
`

test('a reload with a fault, and its cure, appear without loading the page', async t => {
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod('live', double) } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/')
  await page.getByText('The last load found no problem.').waitFor()
  await page.evaluate(() => (window.same = true))
  spiced.write('spicepod.yaml', pod('live', double.replace('x * 2', 'x * y')))
  await page.getByText('y').first().waitFor()
  const note = page.locator('.note.bad', { hasText: 'double' })
  await note.locator('.caret').waitFor()
  assert.match(await note.textContent(), /spicepod\.yaml:10:15/)
  await screenshot(page, 'fault')
  await accessible(page, 'a fault')
  spiced.write('spicepod.yaml', pod('live', double.replace('x * 2', 'x + x')))
  await page.getByText('The last load found no problem.').waitFor()
  assert.equal(await page.evaluate(() => window.same), true)
})

test('the tests of a function run', async t => {
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod('tests', double) } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/functions/double?tab=tests')
  await page.getByRole('button', { name: 'Run the tests' }).click()
  await page.getByText('1 of 1 passed').waitFor()
})

test('keys', async t => {
  const keys = pod(
    'keys',
    `${double}  - name: secret_number
    from: sql
    description: For nobody but the owner.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    available: ctx.principal == "owner"
    body: x
`,
  ).replace(
    'runtime: {',
    `runtime: { auth: { api-key: { enabled: true, principals: [{ name: owner, key: "owner-key-1234567:rw" }, { name: reader, key: reader-key-123456 }] } },`,
  )
  const spiced = await serve(t, { files: { 'spicepod.yaml': keys } })
  const browser = await openBrowser(t)
  const page = await openPage(t, browser, spiced.url + '/ui/tools', { allowed: /status of 401/ })
  await page.getByText('The runtime asks for a key.').waitFor()
  await screenshot(page, 'key')
  await accessible(page, 'a key is needed')
  await page.getByRole('textbox', { name: 'Key' }).fill('not-a-key-at-all')
  await page.keyboard.press('Enter')
  await page.getByText('The runtime does not know this key.').waitFor()
  await page.getByRole('textbox', { name: 'Key' }).fill('reader-key-123456')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'double' }).waitFor()
  assert.equal(await page.getByText('secret_number').count(), 0, 'a hidden tool is listed')
  const stored = await page.evaluate(() => ({
    local: JSON.stringify(localStorage),
    url: location.href,
  }))
  assert.ok(!stored.local.includes('reader') && !stored.url.includes('reader'))
  await page.getByRole('link', { name: 'Overview' }).click()
  await page.getByRole('button', { name: 'Reload' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Reload' }).isDisabled(), true, 'a reader may reload')
  assert.equal(await page.getByText('secret_number').count(), 0, 'a hidden function is listed')
  await page.getByRole('button', { name: 'Forget the key' }).click()
  await page.getByRole('textbox', { name: 'Key' }).fill('owner-key-1234567')
  await page.keyboard.press('Enter')
  await page.waitForFunction(() => !document.querySelector('main button[disabled]'))
  await page.getByRole('link', { name: 'Tools', exact: true }).click()
  await page.getByRole('link', { name: 'secret_number' }).waitFor()
})

test('a key that is removed while a page is open', async t => {
  const keys = names =>
    pod('removed', double).replace(
      'runtime: {',
      `runtime: { auth: { api-key: { enabled: true, principals: [${names.map(n => `{ name: ${n}, key: ${n}-key-1234567 }`)}] } },`,
    )
  const spiced = await serve(t, { files: { 'spicepod.yaml': keys(['first', 'second']) } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/tools', { allowed: /status of 401/ })
  await page.getByRole('textbox', { name: 'Key' }).fill('second-key-1234567')
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()
  spiced.write('spicepod.yaml', keys(['first']))
  await page.getByText('The runtime does not know this key.').waitFor()
  for (const wrong of ['ключ🔑', 'k'.repeat(5000)]) {
    await page.getByRole('textbox', { name: 'Key' }).fill(wrong)
    await page.keyboard.press('Enter')
    await page.getByText('A key has 1 to 4,096 letters').waitFor()
  }
  spiced.write('spicepod.yaml', keys(['first', 'second']))
  await until(
    async () => (await fetch(spiced.url + '/v1/caller', { headers: { 'X-API-Key': 'second-key-1234567' } })).ok,
    'the key is known again',
  )
  await page.getByRole('textbox', { name: 'Key' }).fill('second-key-1234567')
  await page.keyboard.press('Enter')
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'double' }).waitFor()
  assert.equal(await page.getByText('The connection to the runtime is lost.').count(), 0)
})

test('a key with a limit of requests', async t => {
  const limited = pod('limited', double).replace(
    'runtime: {',
    'runtime: { auth: { api-key: { enabled: true, principals: [{ name: slow, key: slow-key-1234567, limits: { requests_per_second: 1, burst: 2 } }] } },',
  )
  const spiced = await serve(t, { files: { 'spicepod.yaml': limited } })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/', { allowed: /status of (401|429)/ })
  await page.getByRole('textbox', { name: 'Key' }).fill('slow-key-1234567')
  await page.keyboard.press('Enter')
  await page.getByText('The last load found no problem.').waitFor()
  await page.locator('.figures', { hasText: /1functions/ }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0, 'a limit is reported that a pause keeps')
})

test('more tabs than a browser opens connections are live', async t => {
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod('tabs', double) } })
  const first = await openPage(t, await openBrowser(t), spiced.url + '/ui/tools')
  const tabs = [first]
  while (tabs.length < 9) tabs.push(await first.context().newPage())
  for (const tab of tabs.slice(1)) await tab.goto(spiced.url + '/ui/tools')
  for (const tab of tabs) await tab.getByText('Live', { exact: true }).waitFor()
  spiced.write('spicepod.yaml', pod('tabs', double.replaceAll('double', 'triple')))
  for (const tab of tabs) await tab.getByRole('link', { name: 'triple' }).waitFor()
  await first.close()
  spiced.write('spicepod.yaml', pod('tabs', double))
  for (const tab of tabs.slice(1)) await tab.getByRole('link', { name: 'double' }).waitFor()
})

test('a runtime that is gone and comes back', async t => {
  const files = { 'spicepod.yaml': pod('gone', double) }
  const first = await serve(t, { files })
  const page = await openPage(t, await openBrowser(t), first.url + '/ui/tools', {
    allowed: /ERR_|status of 503|unreachable|The runtime does not answer|preload assets/,
  })
  await page.getByRole('link', { name: 'double' }).waitFor()
  await page.getByText('Live', { exact: true }).waitFor()
  await first.stop()
  await page.getByText('The connection to the runtime is lost.').waitFor()
  await page.getByRole('link', { name: 'Functions' }).click()
  await page.getByText('The runtime does not answer.').first().waitFor()
  await screenshot(page, 'lost')
  await accessible(page, 'a lost connection')
  const port = new URL(first.url).port
  await serve(t, { files: { 'spicepod.yaml': pod('gone', double.replaceAll('double', 'triple')) }, port })
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'triple' }).waitFor()
  assert.equal(await page.getByText('The connection to the runtime is lost.').count(), 0)
})

test('hostile texts are shown as text', async t => {
  const markup = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`
  const bidi = 'safe\u202Egnp.exe\u202C \u200Bhidden\u2066'
  const long = 'w'.repeat(1_000_000)
  const files = {
    'spicepod.yaml': pod(
      'hostile',
      `datasets:
  - { from: "file:rows.json", name: rows, description: ${JSON.stringify(markup)} }
functions:
  - name: hostile
    from: sql
    description: ${JSON.stringify(markup + ' ' + bidi)}
    signature: { args: [{ name: x, type: utf8, description: ${JSON.stringify(markup)} }], returns: utf8 }
    body: "'<b>' || x || '</b>'"
  - name: odd
    from: sql
    signature: { args: [{ name: constructor, type: utf8 }, { name: tostring, type: int64 }], returns: utf8 }
    body: constructor || tostring
`,
    ),
    'rows.json': JSON.stringify([{ text: markup }, { text: bidi }, { text: long }]),
  }
  const spiced = await serve(t, { files })
  const browser = await openBrowser(t)
  for (const path of [
    '/ui/tools',
    '/ui/tools/hostile',
    '/ui/functions/hostile',
    '/ui/data',
    '/ui/data/rows?tab=sample',
    '/ui/search?q=hostile',
  ]) {
    const page = await openPage(t, browser, spiced.url + path, { width: 400 })
    await page.getByText('<img src=x onerror=').first().waitFor()
    await until(() => page.evaluate(() => !document.body.textContent.includes('Loading…')), 'it is loaded')
    assert.equal(await page.evaluate(() => document.querySelectorAll('main img, main script, main iframe').length), 0)
    assert.doesNotMatch(await page.title(), /owned/)
    const text = await page.locator('main').textContent()
    assert.doesNotMatch(text, /[\u202a-\u202e\u2066-\u2069\u200b]/, `${path}: a mark that deceives is not made visible`)
    assert.ok(text.length < 200_000, `${path}: a text of a million characters is shown whole`)
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${path} is too wide`)
  }
  const odd = await openPage(t, browser, spiced.url + '/ui/tools/odd')
  await odd.getByLabel('constructor').fill('a')
  await odd.getByLabel('tostring').fill('1')
  await odd.getByRole('button', { name: 'Call', exact: true }).click()
  await odd.getByText('"a1"').waitFor()
  const page = await openPage(t, browser, spiced.url + '/ui/tools/hostile')
  await page.getByLabel('x', { exact: false }).first().fill(markup)
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.getByText('<b><img').first().waitFor()
  assert.doesNotMatch(await page.title(), /owned/)
})
