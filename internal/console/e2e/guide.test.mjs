// The pictures of docs/console.md, taken on the quickstart. `npm run pictures` writes them to docs/console;
// a test run only sees that each page gets to the state that its picture shows.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openBrowser, openPage, root, serve, shots } from './lib.mjs'
import { results, startProvider } from './provider.mjs'

const team = url => `
models:
  - { name: assistant, from: "openai:demo", params: { endpoint: "${url}", openai_api_key: demo, tools: "airport_km, comfort, delay_band" } }
agents:
  - { name: navigator, model: assistant, description: Knows distances., instructions: You are the navigator., tools: [airport_km], events: all }
  - { name: meteorologist, model: assistant, description: Knows the weather., instructions: You are the meteorologist., tools: [comfort], events: all }
  - { name: dispatcher, model: assistant, description: Plans a flight with the others., instructions: You are the dispatcher., agents: [navigator, meteorologist], events: all }
`

const pause = ms => new Promise(done => setTimeout(done, ms))

/** answer plays the three agents. */
async function* answer(request) {
  const system = JSON.stringify(request.messages.filter(m => m.role === 'system'))
  const done = results(request).length > 0
  const say = async function* (text) {
    for (const word of text.split(/(?<= )/)) {
      yield { say: word }
      await pause(12)
    }
  }
  if (system.includes('navigator')) {
    if (done) yield* say('London to New York is 5,540 km.')
    else yield { call: { name: 'airport_km', arguments: { from_iata: 'LHR', to_iata: 'JFK' } } }
  } else if (system.includes('meteorologist')) {
    if (done) yield* say('It feels like 8 °C; take a coat.')
    else yield { call: { name: 'comfort', arguments: { temperature_c: 11, wind_kmh: 24 } } }
  } else if (done)
    yield* say(
      'The flight is **5,540 km**, about 7 hours.\n\n| part | answer |\n|---|---|\n| distance | 5,540 km |\n| weather | 8 °C, windy |\n\nTake a coat.',
    )
  else {
    yield* say('I ask the navigator and the meteorologist. ')
    const tasks = [
      { agent: 'navigator', task: 'How far is it from London to New York?' },
      { agent: 'meteorologist', task: 'What is the weather in New York?' },
    ]
    yield { call: { name: 'delegate_parallel', arguments: { tasks } } }
  }
}

test('the pictures of the guide', async t => {
  const { readFileSync } = await import('node:fs')
  const provider = await startProvider(t, answer)
  const pod = readFileSync(join(root, 'examples/quickstart/spicepod.yaml'), 'utf8')
  const spiced = await serve(t, { from: 'examples/quickstart', files: { 'spicepod.yaml': pod + team(provider.url) } })
  const browser = await openBrowser(t)
  const folder = process.env.SPICED_PICTURES ?? join(shots, 'guide')
  mkdirSync(folder, { recursive: true })
  const picture = async (name, path, ready) => {
    const page = await openPage(t, browser, spiced.url + path, { width: 1200, height: 760 })
    await ready(page)
    await page.mouse.move(1199, 759)
    await page.screenshot({ path: join(folder, name + '.png') })
    await page.context().close()
  }
  const call = (tool, args) =>
    fetch(`${spiced.url}/v1/tools/${tool}`, {
      method: 'POST',
      body: JSON.stringify(args),
      headers: { 'X-Spiced-Agent': 'planner' },
    })
  for (const to of ['JFK', 'SYD', 'CDG', 'SFO', 'nowhere', 'HND'])
    await call('airport_km', { from_iata: 'LHR', to_iata: to })
  await call('delay_band', { minutes: 12 })
  await call('airport_km', {})

  await picture('chat', '/ui/chat?model=dispatcher&q=Plan+a+flight+from+London+to+New+York.', async page => {
    await page.getByRole('option', { name: 'dispatcher' }).waitFor({ state: 'attached' })
    await page.getByRole('textbox', { name: 'Message', exact: true }).press('Enter')
    await page.getByText('Take a coat.').first().waitFor()
    await page.locator('.timeline').first().waitFor()
  })
  await picture('tools', '/ui/tools?sort=-calls', page => page.getByRole('link', { name: 'airport_km' }).waitFor())
  await picture('tool', '/ui/tools/airport_km', async page => {
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
  })
  await picture('search', '/ui/search?q=distance+between+airports&tool=comfort', page =>
    page.getByRole('heading', { name: 'Why comfort is not found' }).waitFor(),
  )
  const map = `SELECT iata, city, latitude, longitude FROM airports`
  await picture('sql', '/ui/sql?q=' + encodeURIComponent(map), async page => {
    await page.getByRole('button', { name: /^Run/ }).click()
    await page.getByRole('tab', { name: 'Chart' }).click()
    await page.locator('svg.plot').first().waitFor()
  })
  await picture('lineage', '/ui/functions/airport_km?tab=lineage', page =>
    page.getByRole('link', { name: 'dataset airports' }).waitFor(),
  )
  await picture('overview', '/ui/', async page => {
    await page.getByText('The last load found no problem.').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })
})
