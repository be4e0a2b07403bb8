// The main act of each page on the quickstart, by the keyboard or the mouse, as a new user would.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, openBrowser, openPage, screenshot, serve } from './lib.mjs'

test('the pages on the quickstart', async t => {
  const spiced = await serve(t, { from: 'examples/quickstart' })
  const browser = await openBrowser(t)
  const open = (t, path, o) => openPage(t, browser, spiced.url + path, o)
  const call = (tool, args) =>
    fetch(`${spiced.url}/v1/tools/${tool}`, { method: 'POST', body: JSON.stringify(args) }).then(r => r.text())
  for (const to of ['JFK', 'SYD', 'nowhere']) await call('airport_km', { from_iata: 'LHR', to_iata: to })
  await call('airport_km', {})

  await t.test('a browser is led to the console', async t => {
    const page = await open(t, '/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.equal(new URL(page.url()).pathname, '/ui/')
    await page.getByText('The last load found no problem.').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('nothing changed').waitFor()
  })

  await t.test('tools: filter, sort, the least used, a call', async t => {
    const page = await open(t, '/ui/tools', { allowed: /status of 400/ }) // a call without an argument
    await page.getByRole('link', { name: 'airport_km' }).waitFor()
    await page.getByRole('button', { name: 'Invocations' }).click()
    const first = page.locator('tbody tr').first()
    await page.waitForFunction(() => document.querySelector('tbody tr')?.textContent.includes('airport_km'))
    assert.match(await first.textContent(), /4/)
    await page.keyboard.press('/')
    await page.keyboard.type('distance airport')
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 1)
    assert.match(page.url(), /sort=-calls&filter=distance\+airport/)
    await page.getByRole('link', { name: 'airport_km' }).click()

    await page.getByLabel('from_iata').fill('CDG')
    await page.getByLabel('to_iata').fill('SFO')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await page.locator('pre', { hasText: /^8962\./ }).waitFor() // CDG to SFO in kilometres
    await page.getByRole('button', { name: 'As code' }).click()
    await page.getByRole('tab', { name: 'MCP' }).click()
    await page.getByText('"tools/call"').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('to_iata').fill('')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByText('"to_iata" is missing; text').first().waitFor()
    await page.getByRole('tab', { name: 'Calls' }).click()
    await page.locator('svg.plot').first().waitFor()
    await page.getByRole('tab', { name: 'Who sees it' }).click()
    await page.getByRole('heading', { name: 'It can be called' }).waitFor()
  })

  await t.test('search: why a tool is not found, and a test of it', async t => {
    const page = await open(t, '/ui/search')
    await page.getByLabel('What the tool should do').fill('distance between airports')
    await page.getByLabel('Tool to explain').fill('comfort')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Why comfort is not found' }).waitFor()
    await page.getByText('the list ends before it').waitFor()
    await page.getByRole('button', { name: 'Save as search test' }).click()
    await page.getByText('expect: "comfort"').waitFor()
  })

  await t.test('functions: body and lineage', async t => {
    const page = await open(t, '/ui/functions')
    await page.getByRole('link', { name: 'airport_km' }).click()
    await page.locator('pre.code', { hasText: 'haversine_km' }).waitFor()
    await page.getByRole('tab', { name: 'Lineage' }).click()
    await page.getByRole('link', { name: 'dataset airports' }).waitFor()
    await page.getByRole('link', { name: 'dataset airports' }).click()
    await page.getByRole('heading', { name: 'airports' }).waitFor()
  })

  await t.test('data: sample and statistics', async t => {
    const page = await open(t, '/ui/data/airports?tab=sample')
    await page.getByText('Heathrow').first().waitFor()
    await page.getByRole('tab', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: 'Compute the statistics' }).click()
    await page.getByRole('columnheader', { name: 'approx_unique' }).waitFor()
    await page.getByRole('tab', { name: 'Used by' }).click()
    await page.getByRole('link', { name: 'airports_near' }).waitFor()
  })

  await t.test('pages of a view, and addresses with odd values', async t => {
    const view = await open(t, '/ui/data/routes')
    await view.getByRole('heading', { name: 'routes' }).waitFor()
    await view.getByRole('tab', { name: 'Sample' }).click()
    await view.getByText('punctuality').first().waitFor()
    const tools = await open(t, '/ui/tools?show=constructor')
    await tools.getByRole('link', { name: 'airport_km' }).waitFor()
    const usage = await open(t, '/ui/usage?days=-1')
    await usage.getByRole('heading', { name: 'Calls by day' }).waitFor()
    const file = await open(t, '/ui/spicepod?file=../../v1/sql')
    await file.getByText('has no file').waitFor()
    const missing = await open(t, '/ui/functions/airport_kmm')
    await missing.getByRole('link', { name: 'Why?' }).waitFor()
  })

  await t.test('a call with its details', async t => {
    const page = await open(t, '/ui/usage?of=calls')
    await page.locator('tbody button').first().click()
    const details = page.getByRole('dialog', { name: /^Call at/ })
    await details.getByText('airport_km').first().waitFor()
    await details.getByText('Arguments and results are kept of the calls of agents').waitFor()
    await page.keyboard.press('Escape')
    await details.waitFor({ state: 'detached' })
  })

  await t.test('usage: who called what', async t => {
    const page = await open(t, '/ui/usage')
    await page.locator('svg.plot').first().waitFor()
    await page.getByRole('tab', { name: 'Last calls' }).click()
    await page.getByText('invalid_arguments').first().waitFor()
  })

  await t.test('spicepod: the file, and what a key means', async t => {
    const page = await open(t, '/ui/spicepod')
    const editor = page.getByRole('textbox', { name: 'The file spicepod.yaml' })
    await editor.getByText('quickstart').first().click()
    const about = text => page.locator('pre[aria-live]', { hasText: text }).waitFor()
    await about('name: string')
    await editor.getByText('enabled').first().click()
    await about('runtime.functions.enabled: boolean')
  })

  await t.test('the palette leads to a tool by the keyboard', async t => {
    const page = await open(t, '/ui/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('haversine')
    await page.getByRole('option', { name: 'haversine_km tool' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'haversine_km' }).waitFor()
  })

  const views = {
    overview: '/ui/',
    tools: '/ui/tools',
    tool: '/ui/tools/airport_km',
    calls: '/ui/tools/airport_km?tab=calls',
    visibility: '/ui/tools/airport_km?tab=visibility',
    search: '/ui/search?q=distance+between+airports&tool=comfort',
    functions: '/ui/functions',
    function: '/ui/functions/airport_km',
    lineage: '/ui/functions/airport_km?tab=lineage',
    data: '/ui/data',
    dataset: '/ui/data/airports?tab=sample',
    usage: '/ui/usage',
    agents: '/ui/usage?of=agents',
    spicepod: '/ui/spicepod',
    tests: '/ui/functions/haversine_km?tab=tests',
  }
  for (const theme of ['light', 'dark'])
    for (const width of [1400, 400])
      await t.test(`accessible: ${theme}, ${width} px`, async t => {
        for (const [name, path] of Object.entries(views)) {
          const page = await open(t, path, { theme, width })
          await page.locator('h1').first().waitFor()
          await page.waitForFunction(() => !/Loading…|Drawing…/.test(document.body.textContent))
          await accessible(page, `${name}, ${theme}, ${width} px`)
          const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
          assert.ok(wide <= 0, `${name} is ${wide} px too wide at ${width} px`)
          await screenshot(page, `${name}-${theme}-${width}`)
          await page.close()
        }
      })
})
