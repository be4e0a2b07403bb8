// The views inside chats, in the official host library, fed by the official client.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { build } from 'vite'
import { openBrowser, openPage, screenshot, serve } from './lib.mjs'
import { startProvider } from './provider.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } }

/** hostPage serves the page of apphost.mjs. */
async function hostPage(t) {
  const built = await build({
    configFile: false,
    logLevel: 'error',
    root: here,
    build: { write: false, target: 'es2022', rolldownOptions: { input: join(here, 'apphost.mjs') }, minify: false },
  })
  const code = built.output.find(f => f.type === 'chunk').code
  const style =
    '<style>body{margin:0;background:light-dark(#fff,#1e2024)}iframe{border:0;width:100%;height:300px}</style>'
  const server = createServer((request, response) => {
    const script = request.url === '/host.js'
    response.setHeader('Content-Type', script ? 'text/javascript' : 'text/html')
    response.end(
      script
        ? code
        : `<!doctype html><html lang="en"><title>host</title>${style}<script type="module" src="/host.js"></script><body></body></html>`,
    )
  })
  await new Promise(done => server.listen(0, '127.0.0.1', done))
  t.after(() => server.close())
  return `http://127.0.0.1:${server.address().port}/`
}

async function connect(t, spiced, extensions) {
  const client = new Client({ name: 'host', version: '1' }, { capabilities: extensions ? { extensions } : {} })
  await client.connect(new StreamableHTTPClientTransport(new URL(spiced.url + '/v1/mcp')))
  t.after(() => client.close())
  return client
}

const refund = `
  - name: refund
    from: sql
    description: Pays an order back.
    risk: write
    requires_approval: true
    signature: { args: [{ name: id, type: int64 }], returns: int64 }
    body: id
`

test('views inside chats', async t => {
  const { readFileSync } = await import('node:fs')
  const pod = readFileSync(join(here, '../../../examples/quickstart/spicepod.yaml'), 'utf8')
  const spiced = await serve(t, { from: 'examples/quickstart', files: { 'spicepod.yaml': pod + refund } })
  const browser = await openBrowser(t)
  const url = await hostPage(t)
  const client = await connect(t, spiced, ui)
  const { tools } = await client.listTools()

  /** show calls a tool and shows its view; the frame's content is returned. */
  const show = async (t, name, args, theme = 'light') => {
    const tool = tools.find(x => x.name === name)
    const uri = tool._meta.ui.resourceUri
    const { contents } = await client.readResource({ uri })
    assert.equal(contents[0].mimeType, 'text/html;profile=mcp-app')
    const result = await client.callTool({ name, arguments: args })
    const page = await openPage(t, browser, url, { width: 700, height: 700, theme })
    await page.waitForFunction(() => window.showView)
    await page.evaluate(x => window.showView(x), { html: contents[0].text, tool, args, result, theme })
    assert.equal(await page.evaluate(() => window.app.name), 'spiced')
    return { page, frame: page.frameLocator('iframe') }
  }

  await t.test('a client without the extension sees no difference', async t => {
    const plain = await connect(t, spiced)
    const list = await plain.listTools()
    assert.equal(JSON.stringify(list).includes('ui://'), false)
    assert.deepEqual(
      list.tools.map(x => x.name),
      tools.map(x => x.name),
    )
  })

  await t.test('rows as a table and a chart', async t => {
    const { page, frame } = await show(t, 'sql', {
      query: 'SELECT city, latitude, longitude FROM airports ORDER BY city',
    })
    await frame.getByText('Amsterdam').first().waitFor()
    await frame.getByText('33 rows').waitFor()
    await screenshot(page, 'app-table')
    await frame.getByRole('button', { name: 'Chart' }).click()
    await frame.locator('svg').first().waitFor()
    await screenshot(page, 'app-chart')
    assert.ok((await page.evaluate(() => window.sizes.at(-1))) > 100)
  })

  await t.test('dark, and a hostile value', async t => {
    const hostile = `SELECT '<img src=x onerror=alert(1)>' AS a, chr(8238) || 'x' AS b FROM range(3)`
    const { page, frame } = await show(t, 'sql', { query: hostile }, 'dark')
    await frame.getByText('<img src=x').first().waitFor()
    await screenshot(page, 'app-dark')
  })

  await t.test('why a search found what it found', async t => {
    const registry = new Client({ name: 'host', version: '1' }, { capabilities: { extensions: ui } })
    await registry.connect(new StreamableHTTPClientTransport(new URL(spiced.url + '/v1/mcp?mode=registry')))
    t.after(() => registry.close())
    const tool = (await registry.listTools()).tools.find(x => x.name === 'tool_search')
    const { contents } = await registry.readResource({ uri: tool._meta.ui.resourceUri })
    const args = { query: 'distance between airports' }
    const result = await registry.callTool({ name: 'tool_search', arguments: args })
    const page = await openPage(t, browser, url, { width: 700, height: 900 })
    await page.waitForFunction(() => window.showView)
    await page.evaluate(x => window.showView(x), { html: contents[0].text, tool, args, result, theme: 'light' })
    await page.frameLocator('iframe').getByRole('heading', { name: 'airport_km' }).waitFor()
    await screenshot(page, 'app-search')
  })

  await t.test('a call that waits for approval leads to the console', async t => {
    const { page, frame } = await show(t, 'refund', { id: 7 })
    await frame.getByRole('heading', { name: 'refund' }).waitFor()
    await screenshot(page, 'app-approval')
    await frame.getByRole('button', { name: 'Decide in the console' }).click()
    await page.waitForFunction(() => window.opened.length === 1)
    const [to] = await page.evaluate(() => window.opened)
    assert.match(to, /\/ui\/approvals\/apr_/)
    const console = await openPage(t, browser, to)
    await console.getByText('refund').first().waitFor()
  })

  await t.test('a view that does not exist is refused by name', async () => {
    await assert.rejects(
      client.readResource({ uri: 'ui://spiced/resul' }),
      /there is no view "ui:\/\/spiced\/resul".*ui:\/\/spiced\/result/,
    )
  })
})

test('the timeline of an agent', async t => {
  const provider = await startProvider(t, async function* (request) {
    if (request.messages.at(-1).role === 'tool') yield { say: 'Forty-two.' }
    else yield { call: { name: 'double', arguments: { x: 21 } } }
  })
  const pod = `version: v1
kind: Spicepod
name: team
runtime: { functions: { enabled: true } }
models:
  - { name: assistant, from: "openai:test", params: { endpoint: "${provider.url}/v1", openai_api_key: test, tools: none } }
agents:
  - name: counter
    model: assistant
    description: Counts.
    instructions: Count.
    tools: [double]
functions:
  - name: double
    from: sql
    description: Twice a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
`
  const spiced = await serve(t, { files: { 'spicepod.yaml': pod } })
  const client = await connect(t, spiced, ui)
  const { tools } = await client.listTools()
  const tool = tools.find(x => x.name === 'counter')
  assert.equal(tool._meta.ui.resourceUri, 'ui://spiced/timeline')
  const { contents } = await client.readResource({ uri: tool._meta.ui.resourceUri })
  const args = { task: 'What is twice 21?' }
  const result = await client.callTool({ name: 'counter', arguments: args })
  assert.deepEqual(
    result._meta['spiced/timeline'].map(e => e.type),
    ['agent_start', 'agent_tool_call', 'agent_tool_result', 'agent_end'],
  )
  const page = await openPage(t, await openBrowser(t), await hostPage(t), { width: 800, height: 900 })
  await page.waitForFunction(() => window.showView)
  await page.evaluate(x => window.showView(x), { html: contents[0].text, tool, args, result, theme: 'light' })
  const frame = page.frameLocator('iframe')
  await frame.locator('.timeline').getByText('double').waitFor()
  await frame.getByText('Forty-two.').first().waitFor()
  await screenshot(page, 'app-timeline')
})
