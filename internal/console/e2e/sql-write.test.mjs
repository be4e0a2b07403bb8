// The SQL page never runs a statement more often than it was asked to: not for a file, not for a key that is
// held, not for a double click.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { later, openBrowser, openPage, serve, until } from './lib.mjs'

const pod = dataset => `version: v1
kind: Spicepod
name: write
runtime: { functions: { enabled: true }, data_roots: ["."] }
datasets:
  - ${dataset}
functions:
  - name: twice
    from: sql
    description: Twice a number.
    signature: { args: [{ name: x, type: int64 }], returns: int64 }
    body: x * 2
tools:
  - { name: clock, from: 'builtin:time_now', as_sql: true }
`

/** A runtime with the table notes (id, k), which can be written. */
async function writable(t) {
  const state = mkdtempSync(join(tmpdir(), 'spiced-console-'))
  later(t, () => rmSync(state, { recursive: true, force: true }))
  const made = await serve(t, {
    files: {
      'notes.csv': 'id,k\n1,a\n',
      'spicepod.yaml': pod('{ name: notes, from: "file:notes.csv", acceleration: { mode: file } }'),
    },
    args: ['--state-dir', state],
  })
  await made.stop()
  const files = join(state, 'accelerated')
  const file = readdirSync(files).find(n => n.endsWith('.duckdb'))
  return serve(t, {
    files: {
      'rw.duckdb': readFileSync(join(files, file)),
      'spicepod.yaml': pod(
        '{ name: notes, from: "duckdb:data", access: read_write, params: { duckdb_open: rw.duckdb } }',
      ),
    },
  })
}

test('a statement runs as often as it was asked to', async t => {
  const spiced = await writable(t)
  const browser = await openBrowser(t)
  const open = async (t, sql, o = {}) => {
    const page = await openPage(t, browser, `${spiced.url}/ui/sql?q=${encodeURIComponent(sql)}`, o)
    await page.locator('.code-editor:not([hidden])').waitFor()
    await page.evaluate(() => (window.showSaveFilePicker = undefined))
    return page
  }
  const run = page => page.getByRole('button', { name: /^Run Ctrl/ })
  const count = id =>
    fetch(spiced.url + '/v1/sql', { method: 'POST', body: `SELECT count(*) AS n FROM notes WHERE id = ${id}` })
      .then(r => r.json())
      .then(([row]) => row.n)
  const late = () => {
    const begin = Date.now()
    return until(() => Date.now() - begin > 700, 'the time of a double click is over')
  }
  const download = async (page, name) => {
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name, exact: true }).click()
    return readFileSync(await (await saved).path(), 'utf8')
  }

  await t.test('a file of what was written is made of the rows that are loaded', async t => {
    const page = await open(t, "INSERT INTO notes VALUES (201, 'one'), (201, NULL) RETURNING *", {
      allowed: /status of 400/,
    })
    await run(page).click()
    await page.getByRole('gridcell', { name: 'one' }).waitFor()
    assert.equal(await download(page, 'CSV'), 'id,k\n201,one\n201,\n')
    await page.getByText('The statement was not run again (INSERT statements are refused).').waitFor()
    assert.deepEqual(JSON.parse(await download(page, 'JSON')), [
      { id: 201, k: 'one' },
      { id: 201, k: null },
    ])
    await page.getByRole('button', { name: 'Arrow', exact: true }).click()
    await page.getByText('Not saved: INSERT statements are refused').waitFor()
    assert.equal(await count(201), 2)
  })

  await t.test('nor does a file call a function again that is not SQL', async t => {
    const page = await open(t, 'SELECT clock() AS now, twice(id) AS x FROM notes WHERE id = 1')
    await run(page).click()
    await page.getByRole('gridcell', { name: '2', exact: true }).waitFor()
    await download(page, 'CSV')
    await page.getByText('it calls clock, which is not SQL').waitFor()
  })

  await t.test('a key that is held, and a double click', async t => {
    const page = await open(t, "INSERT INTO notes VALUES (300, 'hold')")
    // All keys in one task, so that the test does not depend on how fast the machine is.
    const keys = (...repeats) =>
      page.getByRole('textbox', { name: 'Statements' }).evaluate((editor, repeats) => {
        for (const repeat of repeats)
          editor.dispatchEvent(
            new KeyboardEvent('keydown', { key: 'Enter', keyCode: 13, ctrlKey: true, bubbles: true, repeat }),
          )
      }, repeats)
    await keys(false, true, true, false, false)
    await page.getByRole('gridcell').first().waitFor()
    assert.equal(await count(300), 1)
    await late()
    await keys(true, true)
    assert.equal(await count(300), 1)
    await keys(false)
    await until(async () => (await count(300)) === 2, 'it can be run again')
    const other = await open(t, "INSERT INTO notes VALUES (400, 'double')")
    await run(other).evaluate(button => (button.click(), button.click()))
    await other.getByRole('gridcell').first().waitFor()
    assert.equal(await count(400), 1)
    // Enter that is held on the button, longer than a double click takes.
    const held = await open(t, "INSERT INTO notes VALUES (500, 'held')")
    await run(held).focus()
    await held.keyboard.down('Enter')
    await until(async () => (await count(500)) === 1, 'it has run')
    await late()
    for (let i = 0; i < 5; i++) await held.keyboard.down('Enter')
    await held.keyboard.up('Enter')
    await held.getByRole('gridcell').first().waitFor()
    assert.equal(await count(500), 1)
  })
})
