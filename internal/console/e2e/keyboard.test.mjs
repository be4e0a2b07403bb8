// The keyboard alone: where the focus is after each act, and what keys do.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, serve, until } from './lib.mjs'

const pod = `version: v1
kind: Spicepod
name: keyboard
runtime: { functions: { enabled: true } }
datasets:
  - { name: items, from: "file:items.csv", acceleration: { enabled: true } }
views:
  - { name: doubled, sql: "SELECT double(id) AS twice FROM items" }
functions:
  - name: double
    from: sql
    description: Twice a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
    tests:
      - { args: { x: 2 }, returns: 4 }
  - name: refund
    from: sql
    description: Gives money back.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    requires_approval: "true"
    body: x
`
const files = { 'spicepod.yaml': pod, 'items.csv': 'id\n1\n2\n' }

/** focused is what has the focus: its role or element, and its text. */
const focused = page =>
  page.evaluate(() => {
    const e = document.activeElement
    return `${e.tagName.toLowerCase()} ${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 60)}`
  })

test('the focus is never lost', async t => {
  const spiced = await serve(t, { files })
  const browser = await openBrowser(t)
  const page = await openPage(t, browser, spiced.url + '/ui/functions')
  const kept = async what => {
    await page.waitForFunction(() => document.activeElement !== document.body)
    assert.notEqual((await focused(page)).split(' ')[0], 'body', what)
  }
  await page.getByRole('link', { name: 'double' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'double' }).waitFor()
  await kept('a row that opens a page')

  await page.getByRole('tab', { name: 'Body' }).focus()
  await page.keyboard.press('End')
  await page.getByRole('button', { name: 'Run the tests' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('1 of 1 passed').waitFor()
  await until(async () => (await focused(page)) === 'button Run the tests', 'the button has the focus again')

  await page.goto(spiced.url + '/ui/data/items?tab=statistics')
  await page.getByRole('button', { name: 'Compute the statistics' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('rowheader', { name: 'id' }).waitFor()
  await kept('a button that goes away')

  await page.goto(spiced.url + '/ui/')
  await page.getByRole('button', { name: 'Reload' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('nothing changed').waitFor()
  await until(async () => (await focused(page)) === 'button Reload', 'the button has the focus again')

  await fetch(spiced.url + '/v1/tools/refund', { method: 'POST', body: '{"x": 1}' })
  await page.getByRole('link', { name: 'Approvals 1 pending' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'refund' }).focus()
  await fetch(spiced.url + '/v1/tools/refund', { method: 'POST', body: '{"x": 2}' })
  await page.getByRole('link', { name: 'Approvals 2 pending' }).waitFor()
  await page.getByRole('row').nth(2).waitFor()
  await page.keyboard.press('Enter') // on the one that was chosen, not on the one that has taken its row
  await page.getByText('"x": 1').waitFor()
  await page.getByRole('button', { name: 'Approve' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Decided by').waitFor()
  await kept('a decision')
})

test('places in the Spicepod are reached by links and by keys', async t => {
  const spiced = await serve(t, { files })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/')
  await page.getByText('Live', { exact: true }).waitFor()
  spiced.write('spicepod.yaml', pod.replace('body: x * 2', 'body: x * y'))
  await page.getByRole('link', { name: '1 error in the Spicepod' }).waitFor()
  await page.reload()
  await page.getByRole('link', { name: '1 error in the Spicepod' }).waitFor()
  await page.getByRole('link', { name: /spicepod\.yaml:14:1\d/ }).click()
  await page.getByRole('textbox', { name: 'The file spicepod.yaml' }).waitFor()
  const help = page.getByLabel('The key at the cursor')
  await help.filter({ hasText: 'functions.body' }).waitFor()
  assert.match(page.url(), /at=14%3A1\d/)
  await page.keyboard.press('ArrowUp')
  await help.filter({ hasText: 'functions.signature' }).waitFor()
  await page.keyboard.press('F8')
  await help.filter({ hasText: 'functions.body' }).waitFor()
  await page.keyboard.press('Control+f')
  await page.getByRole('textbox', { name: 'Find' }).waitFor()
  await page.goto(spiced.url + '/ui/functions/double')
  await page.getByText('last good version', { exact: true }).waitFor()
  await page.goto(spiced.url + '/ui/functions')
  await page
    .getByRole('row', { name: /double/ })
    .getByText('last good version')
    .waitFor()
})

test('lineage and readers have views', async t => {
  const spiced = await serve(t, { files })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/functions/double?tab=lineage')
  await page.getByRole('link', { name: 'dataset doubled' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'doubled' }).waitFor()
  await page.goto(spiced.url + '/ui/data/items?tab=used')
  await page
    .getByRole('row', { name: /doubled/ })
    .getByText('view')
    .waitFor()
})

test('numbers keep their digits between the forms of arguments', async t => {
  const spiced = await serve(t, { files })
  const page = await openPage(t, await openBrowser(t), spiced.url + '/ui/tools/double')
  const field = page.getByRole('textbox', { name: /^x/ })
  await field.fill('9007199254740993')
  await page.getByRole('checkbox', { name: 'as JSON' }).check()
  assert.match(await page.getByLabel('Arguments as JSON').inputValue(), /"x": 9007199254740993\n/)
  await page.getByRole('checkbox', { name: 'as JSON' }).uncheck()
  assert.equal(await field.inputValue(), '9007199254740993')
})
