// Chats, agents and approvals in the browser, with a provider that the tests script.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, openBrowser, openPage, screenshot, serve, until } from './lib.mjs'
import { lastUser, results, startProvider } from './provider.mjs'

const pod = (url, more = '') => `
version: v2
kind: Spicepod
name: chats
runtime:
  functions: { enabled: true }
${more}
functions:
  - name: refund
    from: sql
    description: Pay an order back.
    risk: write
    requires_approval: true
    signature: { args: [{ name: order_id, type: int64 }], returns: string }
    body: "'order ' || order_id || ' is paid back'"
  - name: word_count
    from: sql
    description: How many words a text has.
    signature: { args: [{ name: text, type: string }], returns: int64 }
    body: "len(string_split(text, ' '))"
models:
  - name: assistant
    from: openai:gpt-test
    params: { endpoint: "${url}", tools: "refund, word_count", max_retries: "0" }
  - name: broken
    from: scripted:broken
    params: { tools: search_registry }
    script: [{ say: never }]
agents:
${['hawken', 'lagan', 'mara', 'thorn']
  .map(
    name => `
  - { name: ${name}, model: assistant, description: Specialist ${name}., instructions: You are ${name}., tools: [word_count, refund], events: all }`,
  )
  .join('')}
  - { name: ishvana, model: assistant, description: Delegates., instructions: You are ishvana., agents: [hawken, lagan, mara, thorn], tools: [word_count] }
`

const system = asked => JSON.stringify(asked.messages.filter(m => m.role === 'system'))
const words = text => text.split(/(?<= )/)

/** gate is a promise that the test opens. */
function gate() {
  let open
  const promise = new Promise(done => (open = done))
  return { promise, open }
}

/** start serves a Spicepod whose model answers by script. */
async function start(t, script, more) {
  const provider = await startProvider(t, script)
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(provider.url, more) } })
  return { provider, spiced }
}

const say = async (page, text) => {
  await page.getByRole('option', { name: 'assistant' }).waitFor({ state: 'attached' })
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
  await page.keyboard.press('Enter')
}

/** idle waits until the runtime works for no one. */
const idle = spiced =>
  until(
    async () => !/"chat"|"tool_call"/.test(await (await fetch(spiced.url + '/v1/sql/active')).text()),
    'nothing runs',
  )

test('chat', async t => {
  const held = gate()
  const script = async function* (asked) {
    const text = lastUser(asked)
    if (text.startsWith('wait')) {
      yield { say: 'It begins' }
      await held.promise
      yield { say: ' and ends.' }
    } else if (text.startsWith('early') && results(asked).length === 0) {
      yield { say: 'I count. ' }
      yield { call: { name: 'word_count', arguments: { text: 'a b c' } } }
      yield { call: { name: 'word_count', arguments: { text: 'a b' } } }
      for (let i = 0; i < 20; i++) {
        await new Promise(done => setTimeout(done, 20))
        yield { say: `still ${i} ` }
      }
    } else if (text.startsWith('fail')) {
      yield { say: 'Half of ' }
      yield { error: { message: 'the provider is overloaded', type: 'server_error' } }
    } else if (text.startsWith('think')) {
      yield { think: 'First, I think.' }
      yield { say: 'Done thinking.' }
    } else for (const w of words(`You said: ${text}. Results: ${results(asked).join(', ')}`)) yield { say: w }
  }
  const { provider, spiced } = await start(t, script)
  const browser = await openBrowser(t)
  const open = (t, path, o) => openPage(t, browser, spiced.url + path, o)

  await t.test('a link fills the message and sends nothing; Enter sends', async t => {
    const page = await open(t, '/ui/chat?model=assistant&q=hello+there')
    await page.getByRole('textbox', { name: 'Message', exact: true }).waitFor()
    assert.equal(await page.getByRole('textbox', { name: 'Message', exact: true }).inputValue(), 'hello there')
    assert.equal(provider.requests.length, 0)
    await page.getByRole('textbox', { name: 'Message', exact: true }).press('Enter')
    await page.getByText('You said: hello there.').waitFor()
    await page.getByText(/prompt tokens \(64 cached\)/).waitFor()
    assert.doesNotMatch(page.url(), /q=/)
    await screenshot(page, 'chat-first')
  })

  await t.test('edit and send again replaces what follows; a reload keeps it', async t => {
    const page = await open(t, '/ui/chat?model=assistant&system=Be+brief.&temperature=0.5')
    await say(page, 'one')
    await page.getByText('You said: one.').waitFor()
    await say(page, 'two')
    await page.getByText('You said: two.').waitFor()
    const sent = provider.requests.at(-1)
    assert.equal(sent.temperature, 0.5)
    assert.deepEqual(
      sent.messages.map(m => m.role),
      ['system', 'user', 'assistant', 'user'],
    )
    await page.getByRole('button', { name: 'Edit' }).first().click()
    await page.getByText('It replaces 1 later message.').waitFor()
    await page.locator('.said textarea').fill('three')
    await page.locator('.said form').getByRole('button', { name: 'Send again' }).click()
    await page.getByText('You said: three.').waitFor()
    assert.equal(await page.getByText('You said: two.').count(), 0)
    await page.reload()
    await page.getByText('You said: three.').waitFor()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('button', { name: 'Clear: press again' }).click()
    await page.getByText('Write a message to begin.').waitFor()
    await page.reload()
    await page.getByText('Write a message to begin.').waitFor()
  })

  await t.test('stop ends the request here and at the provider, and what was said is kept', async t => {
    const page = await open(t, '/ui/chat?model=assistant')
    await say(page, 'wait for me')
    await page.getByText('It begins').waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('It was stopped.').waitFor()
    await page.getByRole('button', { name: 'Send', exact: true }).waitFor()
    await idle(spiced)
  })

  await t.test('an answer goes on while another page is shown', async t => {
    const page = await open(t, '/ui/chat?model=assistant')
    await say(page, 'wait again')
    await page.getByText('It begins').waitFor()
    await page.getByRole('link', { name: 'Approvals' }).click()
    await page.getByText('No call has asked for approval.').waitFor()
    held.open()
    await page.getByRole('link', { name: 'Chat' }).click()
    await page.getByText('It begins and ends.').waitFor()
  })

  await t.test('an error in the middle of a stream is shown after what was said', async t => {
    const page = await open(t, '/ui/chat?model=assistant')
    await say(page, 'fail please')
    await page.getByText('Half of').waitFor()
    await page.getByRole('alert').getByText('overloaded').waitFor()
    await screenshot(page, 'chat-failed')
  })

  await t.test('calls that begin before the response ends are early', async t => {
    const page = await open(t, '/ui/chat?model=assistant')
    await say(page, 'early calls')
    await page.getByText('You said: early calls.').waitFor()
    assert.equal(await page.locator('.timeline .badge', { hasText: 'early' }).count(), 2)
    assert.equal(await page.locator('.timeline .bar.response').count(), 2)
    for (const call of await page.getByRole('button', { name: 'word_count' }).all()) await call.click()
    await page.getByText('It was dispatched early').first().waitFor()
    await screenshot(page, 'chat-early')
    await page.locator('.timeline .detail pre', { hasText: /^3$/ }).waitFor()
  })

  await t.test('thinking, and a model that did not load', async t => {
    const page = await open(t, '/ui/chat?model=assistant')
    await say(page, 'think')
    await page.getByText('Done thinking.').waitFor()
    await page.getByText('Thinking, 15 characters').click()
    await page.getByText('First, I think.').waitFor()
    await page.getByRole('combobox', { name: 'Model' }).selectOption('broken')
    await page.getByRole('alert').getByText('broken did not load').waitFor()
    assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled())
  })

  await t.test('the same as code', async t => {
    const page = await open(t, '/ui/chat?model=assistant&q=hi')
    await page.getByRole('button', { name: 'As code' }).click()
    await page.getByText('curl -s').waitFor()
    await page.getByText('"content":"hi"').waitFor()
  })
})

test('agents', async t => {
  const script = async function* (asked) {
    const [who, text] = [/You are (\w+)/.exec(system(asked))?.[1], lastUser(asked)]
    if (who === 'ishvana' && results(asked).length === 0) {
      const task = text.startsWith('refund') ? 'refund 7' : text.startsWith('forever') ? 'wait' : 'count'
      const tasks = ['hawken', 'lagan', 'mara', 'thorn'].map(agent => ({ agent, task }))
      yield { say: 'I delegate.' }
      yield {
        call: { name: 'delegate_parallel', arguments: { tasks: task === 'refund 7' ? tasks.slice(0, 1) : tasks } },
      }
    } else if (who === 'ishvana') yield { say: `They say: ${results(asked)[0]}` }
    else if (text.startsWith('wait')) {
      yield { say: 'I begin' }
      await new Promise(() => {})
    } else if (results(asked).length > 0) for (const w of words(`the result is ${results(asked)[0]}.`)) yield { say: w }
    else if (text.startsWith('refund')) yield { call: { name: 'refund', arguments: { order_id: 7 } } }
    else yield { call: { name: 'word_count', arguments: { text: `a b ${who}` } } }
  }
  const { spiced } = await start(t, script)
  const browser = await openBrowser(t)
  const open = (t, path, o) => openPage(t, browser, spiced.url + path, o)

  await t.test('each agent has a lane, with its calls and its answer', async t => {
    const page = await open(t, '/ui/chat') // the agent that delegates is chosen
    await say(page, 'count words')
    await page.getByText(/They say:/).waitFor()
    assert.equal(await page.locator('.timeline .lane.inner').count(), 4)
    assert.equal(await page.locator('.timeline .lane.inner code', { hasText: 'word_count' }).count(), 4)
    await page.getByRole('button', { name: 'lagan agent' }).click()
    await page.locator('.timeline .detail', { hasText: 'the result is 3.' }).waitFor()
    await page.getByText(/tokens in all/).waitFor()
    await screenshot(page, 'chat-agents')
  })

  await t.test('the run of an agent is stopped', async t => {
    const page = await open(t, '/ui/chat?model=ishvana')
    await say(page, 'forever')
    await page.getByRole('button', { name: 'Stop the run of mara' }).click()
    await page.getByText('It was stopped.').waitFor()
    await page.locator('.timeline .lane.inner .badge', { hasText: 'stopped' }).nth(3).waitFor()
    await idle(spiced)
    await screenshot(page, 'chat-interrupted')
  })

  await t.test('an approval is granted while the chat waits', async t => {
    const page = await open(t, '/ui/chat?model=ishvana')
    await say(page, 'refund please')
    await page.getByRole('heading', { name: 'Needs approval: refund' }).waitFor()
    await page.getByText('"order_id": 7').first().waitFor()
    await page.locator('.approval').getByText('SELECT').first().waitFor()
    await page.getByText('waits for approval').waitFor()
    await screenshot(page, 'chat-approval')
    await page.getByLabel('Note, for the caller').fill('checked with the customer')
    await page.getByRole('button', { name: 'Approve' }).click()
    await page.getByText(/They say:.*order 7 is paid back/).waitFor()
    await page.getByText('Approval of refund used').click()
    await page.getByRole('link', { name: 'Open it under Approvals' }).click()
    await page.getByText('checked with the customer').waitFor()
    await page.getByRole('link', { name: 'All approvals' }).click()
    await page.getByLabel('Status').selectOption('used')
    await page.getByRole('link', { name: 'refund' }).waitFor()
    assert.match(page.url(), /status=used/)
  })

  await t.test('the keyboard alone sends, approves and opens a call', async t => {
    const page = await open(t, '/ui/chat?model=hawken')
    await page.getByRole('option', { name: 'assistant' }).waitFor({ state: 'attached' })
    /** tab moves the focus until it is on what is named. */
    const tab = async (name, key = 'Tab') => {
      for (let i = 0; i < 80; i++) {
        await page.keyboard.press(key)
        const at = await page.evaluate(() => {
          const e = document.activeElement
          return (e?.getAttribute('aria-label') || e?.labels?.[0]?.textContent || e?.textContent || '').trim()
        })
        if (at === name) return
      }
      assert.fail(`the focus does not get to ${name}`)
    }
    await tab('Message')
    await page.keyboard.type('refund it')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await tab('Note, for the caller and the record', 'Shift+Tab')
    await page.keyboard.type('by keyboard')
    await tab('Approve')
    await page.keyboard.press('Enter')
    await page.getByText(/the result is .?order 7 is paid back/).waitFor()
    await tab('refund', 'Shift+Tab')
    await page.keyboard.press('Enter')
    await page.locator('.timeline .detail', { hasText: 'order 7' }).waitFor()
  })

  await t.test('an approval arrives in the list without a reload', async t => {
    const page = await open(t, '/ui/approvals?status=pending')
    await page.getByText('There are none that are pending.').waitFor()
    const asked = await fetch(spiced.url + '/v1/tools/refund:invoke', {
      method: 'POST',
      body: JSON.stringify({ args: { order_id: 77 } }),
    })
    const { error } = await asked.json()
    await page.getByRole('row', { name: /77/ }).waitFor()
    await page.getByRole('link', { name: 'refund' }).click()
    await page.getByRole('button', { name: 'Approve' }).waitFor()
    await fetch(`${spiced.url}/v1/approvals/${error.approval_id}`, {
      method: 'POST',
      body: JSON.stringify({ decision: 'deny', note: 'decided elsewhere' }),
    })
    await page.getByText('decided elsewhere').waitFor()
  })

  await t.test('a denied call is one that the model learns of', async t => {
    const page = await open(t, '/ui/chat?model=hawken')
    await say(page, 'refund 9')
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.getByText('Approval of refund denied').waitFor()
    await page.getByText(/the result is .*denied/).waitFor()
  })

  await t.test('a runtime that goes away is shown, and what was said stays', async t => {
    const page = await open(t, '/ui/chat?model=ishvana', { allowed: /Failed to load|ERR_/ })
    await say(page, 'forever')
    await page.getByRole('button', { name: 'Stop the run of mara' }).waitFor()
    await spiced.stop()
    await page
      .getByRole('alert')
      .getByText(/connection to the runtime was lost|shutting down|stopped/)
      .waitFor()
    await page.getByText('I delegate.').waitFor()
    await page.getByText('The connection to the runtime is lost.').waitFor()
  })
})

test('accessible', async t => {
  const script = async function* (asked) {
    const who = /You are (\w+)/.exec(system(asked))?.[1]
    const text = lastUser(asked)
    if (text === 'everything' && results(asked).length === 0) {
      yield { think: 'I think.' }
      yield { say: 'I delegate.' }
      const tasks = ['hawken', 'lagan'].map((agent, i) => ({ agent, task: i ? 'refund' : 'count' }))
      yield { call: { name: 'delegate_parallel', arguments: { tasks } } }
    } else if (text === 'refund' && results(asked).length === 0)
      yield { call: { name: 'refund', arguments: { order_id: 1 } } }
    else if (who === 'hawken' && results(asked).length === 0)
      yield { call: { name: 'word_count', arguments: { text } } }
    else if (text === 'fail') yield { error: { message: 'overloaded', type: 'server_error' } }
    else
      yield {
        say: '### Title\n\n# Another\n\n- [x] done\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```sql\nSELECT 1\n```\n\n[a link](https://example.org) ![an image](https://example.org/x.png)\n\n> quoted `code`\n',
      }
  }
  const { spiced } = await start(t, script)
  const browser = await openBrowser(t)
  for (const theme of ['light', 'dark'])
    for (const width of [1400, 400])
      await t.test(`${theme}, ${width} px`, async t => {
        const page = await openPage(t, browser, `${spiced.url}/ui/chat?model=ishvana&system=Be+brief`, {
          theme,
          width,
          allowed: /status of 502/,
        })
        await say(page, 'hello')
        await page.getByRole('heading', { name: 'Title' }).waitFor()
        await say(page, 'fail')
        await page.getByRole('alert').waitFor()
        await say(page, 'everything')
        await page.getByRole('button', { name: 'Approve' }).waitFor()
        await page.getByRole('button', { name: 'word_count' }).click()
        await page.getByRole('button', { name: 'hawken agent' }).click()
        await accessible(page, `while it runs, ${theme}, ${width} px`)
        await screenshot(page, `chat-runs-${theme}-${width}`)
        await page.getByRole('button', { name: 'Approve' }).click()
        await page.getByRole('heading', { name: 'Another' }).last().waitFor()
        await page.getByRole('button', { name: 'Edit' }).first().click()
        await accessible(page, `${theme}, ${width} px`)
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
        assert.ok(wide <= 0, `it is ${wide} px too wide`)
        await page.evaluate(() => scrollTo(0, 0))
        await screenshot(page, `chat-${theme}-${width}`)
      })
})
