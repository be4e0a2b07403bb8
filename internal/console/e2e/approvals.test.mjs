// Approvals with keys: who may decide, who sees what, and a decision that arrives without a reload.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, openBrowser, openPage, screenshot, serve } from './lib.mjs'
import { startProvider } from './provider.mjs'

const hostile = '<b>\u202eexe</b> ' + 'w'.repeat(3000)

const pod = url => `
version: v2
kind: Spicepod
name: approvals
runtime:
  functions: { enabled: true }
  auth:
    approvers: [ann]
    api-key:
      principals:
        - { name: ann, key: ann-key-that-is-long-enough }
        - { name: support, key: support-key-that-is-long-enough }
functions:
  - name: refund
    from: sql
    description: Pay an order back.
    risk: destructive
    requires_approval: true
    signature: { args: [{ name: order_id, type: int64 }, { name: why, type: string }], returns: string }
    body: "'order ' || order_id || ' is paid back'"
models:
  - name: assistant
    from: openai:gpt-test
    params: { endpoint: "${url}", tools: refund }
`

test('approvals with keys', async t => {
  const provider = await startProvider(t, async function* (asked) {
    const last = asked.messages.at(-1)
    if (last.role === 'tool') yield { say: `The tool says ${last.content}` }
    else yield { call: { name: 'refund', arguments: { order_id: 3, why: 'the model asks' } } }
  })
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(provider.url) } })
  const browser = await openBrowser(t)
  const call = (key, path, body) =>
    fetch(spiced.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { 'X-API-Key': `${key}-key-that-is-long-enough` },
      ...(body ? { body: JSON.stringify(body) } : {}),
    }).then(r => r.json())
  const ask = (key, order, why = 'a reason') =>
    call(key, '/v1/tools/refund:invoke', { args: { order_id: order, why } }).then(r => r.error.approval_id)
  const open = async (t, who, path, o = {}) => {
    const page = await openPage(t, browser, spiced.url + path, { ...o, allowed: /status of 40[1349]/ })
    await page.locator('input[type=password]').fill(`${who}-key-that-is-long-enough`)
    await page.getByRole('button', { name: 'Use this key' }).click()
    return page
  }
  const mine = await ask('support', 1, hostile)
  const anns = await ask('ann', 2)

  await t.test('the list filters by status and by words', async t => {
    const page = await open(t, 'ann', '/ui/approvals')
    await page.getByRole('row', { name: /refund.*pending.*support/ }).waitFor()
    assert.equal(await page.getByRole('row', { name: /refund/ }).count(), 2)
    await page.getByRole('searchbox').fill('support')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    await page.getByLabel('Status').selectOption('denied')
    await page.getByText('None has “support”.').or(page.getByText('There are none that are denied.')).waitFor()
    assert.match(page.url(), /status=denied/)
  })

  await t.test('a key that may not decide sees why', async t => {
    const page = await open(t, 'support', `/ui/approvals/${mine}`)
    await page.getByText('it is not that of an approver').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Approve' }).count(), 0)
    await page.goto(`${spiced.url}/ui/approvals`)
    await page.getByRole('row', { name: /refund/ }).waitFor()
    assert.equal(await page.getByRole('row', { name: /refund/ }).count(), 1, 'others are not shown')
    await page.goto(`${spiced.url}/ui/approvals/${anns}`)
    await page.getByRole('alert').waitFor()
  })

  await t.test('an approver does not decide about calls of their own', async t => {
    const page = await open(t, 'ann', `/ui/approvals/${anns}`)
    await page.getByText('cannot decide about calls of the same principal').waitFor()
  })

  await t.test('arguments are shown whole, as text; it is denied with a note', async t => {
    const page = await open(t, 'ann', `/ui/approvals/${mine}`, { width: 400 })
    await page.getByText('<b>\\u{202e}exe</b>').first().waitFor()
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `it is ${wide} px too wide`)
    await screenshot(page, 'approval-400')
    await page.getByLabel('Note, for the caller').fill('not without a receipt')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.locator('.approval .badge', { hasText: 'denied' }).waitFor()
    await page.getByText('not without a receipt').waitFor()
    assert.equal((await call('support', `/v1/approvals/${mine}`)).status, 'denied')
  })

  await t.test('one that was decided elsewhere is told', async t => {
    const id = await ask('support', 4)
    const page = await open(t, 'ann', `/ui/approvals/${id}`)
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await call('ann', `/v1/approvals/${id}`, { decision: 'deny', note: 'by another approver' })
    await page
      .getByRole('button', { name: 'Approve' })
      .click()
      .catch(() => {})
    await page.getByText('by another approver').or(page.getByText('was denied')).first().waitFor()
  })

  await t.test('a chat waits for the approver, who is another person', async t => {
    const chat = await open(t, 'support', '/ui/chat?model=assistant&q=pay+it+back')
    await chat.getByRole('button', { name: 'Send', exact: true }).click()
    await chat.getByText('it is not that of an approver').waitFor()
    await chat.getByText('waits for approval').waitFor()
    const page = await open(t, 'ann', '/ui/approvals?status=pending&sort=-asked')
    await page
      .getByRole('row', { name: /the model asks/ })
      .getByRole('link')
      .click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.locator('.approval .badge', { hasText: /approved|used/ }).waitFor()
    await chat.getByText(/The tool says .?order 3 is paid back/).waitFor()
    await chat.getByText('Approval of refund used').waitFor()
  })

  await t.test('forgetting the key forgets the conversation', async t => {
    const page = await open(t, 'ann', '/ui/chat?model=assistant&q=pay+it+back')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('cannot decide about calls of the same principal').waitFor()
    await page.getByRole('button', { name: /Forget the key/ }).click()
    await page.locator('input[type=password]').waitFor()
    assert.equal(await page.evaluate(() => /pay it back/.test(JSON.stringify({ ...sessionStorage }))), false)
  })

  for (const theme of ['light', 'dark'])
    for (const width of [1400, 400])
      await t.test(`accessible: ${theme}, ${width} px`, async t => {
        for (const [name, path] of Object.entries({ approvals: '/ui/approvals', approval: `/ui/approvals/${mine}` })) {
          const page = await open(t, 'ann', path, { theme, width })
          await page.getByText('refund').first().waitFor()
          await accessible(page, `${name}, ${theme}, ${width} px`)
          await screenshot(page, `${name}-${theme}-${width}`)
          await page.close()
        }
      })
})
