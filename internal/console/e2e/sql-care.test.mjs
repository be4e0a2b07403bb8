// What people met in the SQL page: values, parameters, plans, completion and places.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, screenshot, serve, until } from './lib.mjs'

const yaml = `version: v1
kind: Spicepod
name: care
runtime: { functions: { enabled: true } }
datasets:
  - { name: flights, from: "file:f.csv", description: All flights. }
  - { name: '"Odd Name"', from: "file:f.csv" }
functions:
  - name: flight_minutes
    from: sql
    description: A scalar function that begins as a table does.
    signature: { args: [{ name: km, type: int64 }, { name: fast, type: boolean }, { name: who, type: string }], returns: int64 }
    body: km * 2
  - name: flights_of
    kind: table
    from: sql
    description: A table function.
    signature: { args: [{ name: n, type: int64 }], returns: [{ name: id, type: int64 }] }
    body: SELECT flights.id::BIGINT AS id FROM flights
`

test('what people met in the SQL page', async t => {
  const spiced = await serve(t, { files: { 'spicepod.yaml': yaml, 'f.csv': 'id,k\n1,a\n2,b\n' } })
  const browser = await openBrowser(t)
  const open = async (t, sql, o) => {
    const page = await openPage(t, browser, `${spiced.url}/ui/sql?q=${encodeURIComponent(sql)}`, o)
    await page.locator('.code-editor:not([hidden])').waitFor()
    return page
  }
  const refused = { allowed: /status of 400/ }
  const button = (page, name) => page.getByRole('button', { name, exact: true })
  const run = page => page.getByRole('button', { name: /^Run Ctrl/ }).click()
  const alert = (page, text) => page.getByRole('alert').filter({ hasText: text }).waitFor()
  const write = async (page, sql) => {
    await page.getByRole('textbox', { name: 'Statements' }).focus()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+a')
    await page.keyboard.insertText(sql)
  }

  await t.test('Parquet can be saved when a larger result has arrived', async t => {
    const page = await open(t, "SELECT i AS id, 'text ' || i AS t FROM range(300000) x(i)")
    await run(page)
    await page.locator('main p[role=status]', { hasText: /^300,000 rows, / }).waitFor()
    await page.waitForFunction(() =>
      [...document.querySelectorAll('button')].some(b => b.textContent === 'Parquet' && !b.disabled),
    )
  })

  await t.test('Parquet says how many columns it has renamed', async t => {
    const page = await open(t, `SELECT ${Array.from({ length: 300 }, (_, i) => `${i} AS a`).join(', ')}`)
    await run(page)
    await page.getByRole('gridcell').first().waitFor()
    const saved = page.waitForEvent('download')
    await button(page, 'Parquet').click()
    await saved
    await page.getByText(/called “a_1” in it\..*29\d more are renamed\./).waitFor()
  })

  await t.test('numbers without a name in JSON are told apart in lists', async t => {
    const page = await open(
      t,
      "SELECT [NULL, 'nan'::DOUBLE, '-inf'::DOUBLE] AS l, {'a': 'inf'::FLOAT} AS s, row(1, 'x') AS r",
    )
    await run(page)
    for (const name of ['[null,NaN,-Infinity]', '{"a":Infinity}', '[1,"x"]'])
      await page.getByRole('gridcell', { name, exact: true }).waitFor()
    await page.getByRole('columnheader', { name: 'r STRUCT(INTEGER, VARCHAR)' }).waitFor()
    await page.getByRole('gridcell', { name: '[null,NaN,-Infinity]' }).dblclick()
    await page.getByRole('dialog').getByText('-Infinity').waitFor()
    await button(page, 'Show as it is').waitFor()
  })

  await t.test('lists, structs, bytes and texts are sorted as the engine sorts them', async t => {
    for (const [type, values] of Object.entries({
      'INT[]': ['[10]', '[9]', '[1, 2]', '[]', '[1]', '[NULL]', '[1, NULL]', 'NULL'],
      'DOUBLE[]': ["['nan']", "['inf']", '[1]', "['-inf']"],
      'STRUCT(a INT, b VARCHAR)': [
        "{'a': 10, 'b': 'x'}",
        "{'a': 9, 'b': 'y'}",
        "{'a': 9, 'b': NULL}",
        "{'a': NULL, 'b': 'a'}",
      ],
      BLOB: ["'\\xFF'", "'a'", "'\\x00'", "'ab'", "''"],
      VARCHAR: ["'😀'", "'ﬀ'", "'z'", "'Z'", "'é'", "''"],
      'VARCHAR[]': ["['😀']", "['ﬀ', 'a']", "['ﬀ']"],
      'INT[][]': ['[[2], [1]]', '[[10]]', '[[2]]'],
    })) {
      const from = `(VALUES ${values.map((v, i) => `((${v})::${type}, ${i})`).join(', ')}) t(v, n)`
      const page = await open(t, `SELECT v, n FROM ${from} ORDER BY n`)
      await run(page)
      await page.getByRole('columnheader', { name: 'n INTEGER' }).waitFor()
      for (const [order, sql] of [
        ['ascending', 'v ASC NULLS LAST'],
        ['descending', 'v DESC NULLS LAST'],
      ]) {
        await page.getByRole('columnheader').first().click()
        await page.locator(`[role=columnheader][aria-sort=${order}]`).waitFor()
        const want = await fetch(spiced.url + '/v1/sql', {
          method: 'POST',
          body: `SELECT n FROM ${from} ORDER BY ${sql}`,
        }).then(r => r.json())
        const shown = () => page.locator('[role=gridcell][aria-colindex="2"]').allTextContents()
        await until(async () => String(await shown()) === String(want.map(r => r.n)), `${type} ${order}`, 5000).catch(
          async () =>
            assert.deepEqual(
              await shown(),
              want.map(r => String(r.n)),
              `${type} ${order}`,
            ),
        )
      }
    }
  })

  await t.test('parameters: any name, one field for $x and $X, types of the function, what is empty', async t => {
    const page = await open(t, 'SELECT $constructor AS a, $__proto__ AS b, $x || $X AS c')
    await run(page)
    await alert(page, 'fill in $constructor')
    for (const name of ['constructor', '__proto__', 'x'])
      await page.getByLabel(`Value of $${name}`, { exact: true }).fill('v')
    await run(page)
    await page.getByRole('gridcell', { name: 'vv', exact: true }).waitFor()

    await write(page, 'SELECT flight_minutes($km, $fast, $who)')
    await page.waitForFunction(() => document.querySelector('[aria-label="Type of $km"]')?.value === 'number')
    assert.equal(await page.getByLabel('Type of $fast').inputValue(), 'boolean')
    assert.equal(await page.getByLabel('Type of $who').inputValue(), 'text')
    await button(page, 'Explain').click()
    await alert(page, 'fill in $km')
    await page.getByLabel('Value of $km').fill('21')
    await page.getByLabel('Type of $who').selectOption('empty text')
    await run(page)
    await page.getByRole('gridcell', { name: '42', exact: true }).waitFor()
  })

  await t.test('plans: of constants, of an EXPLAIN, and what the colour means', async t => {
    const page = await open(t, 'VALUES (1), (2)', refused)
    await button(page, 'Analyze').click()
    await alert(page, 'DuckDB has measured no operator')
    await write(page, '/* a plan */ EXPLAIN SELECT 1')
    await button(page, 'Explain').click()
    await alert(page, 'The statement is an EXPLAIN itself.')
    await write(page, 'SELECT count(*) FROM range(1000000) t(i) WHERE i % 3 = 0')
    await button(page, 'Analyze').click()
    await screenshot(page, 'sql-plan')
    await page.getByText('Red: the way to where most time is spent.').waitFor()
    await page
      .getByRole('treeitem', { name: /rows?, ~[\d,]+ expected/ })
      .first()
      .waitFor()
  })

  await t.test('a place is not gone to when the text has changed', async t => {
    const page = await open(t, 'SELECT nope FROM flights', refused)
    await run(page)
    await button(page, 'Go to the place').click()
    await page.keyboard.insertText('-- a line\n')
    await page.locator('button:disabled', { hasText: 'Go to the place' }).waitFor()
  })

  await t.test('the history says what was cancelled', async t => {
    const page = await open(t, 'SELECT count(*) FROM range(100000000) a, range(100000) b', {
      allowed: /status of 499/,
    })
    await run(page)
    const active = () => fetch(spiced.url + '/v1/sql/active').then(r => r.json())
    await until(async () => (await active()).total_count === 1, 'it runs')
    // Cancelled by someone else, as in the overview.
    const id = (await active()).queries[0].query_id
    await fetch(`${spiced.url}/v1/sql/${id}/cancel`, { method: 'POST' })
    await page.getByText('Cancelled.').waitFor()
    await write(page, 'SELECT 1 AS one')
    await run(page)
    await page.getByRole('columnheader', { name: 'one INTEGER' }).waitFor()
    await button(page, 'History').click()
    await page.getByRole('button', { name: /range\(100000000\).*cancelled/ }).waitFor()
    await page.getByRole('button', { name: /SELECT 1 AS one.*, 1 row$/ }).waitFor()
  })

  await t.test('completion: tables behind FROM, and nothing in texts and comments', async t => {
    const page = await open(t, '')
    const labels = page.locator('.cm-tooltip-autocomplete .cm-completionLabel')
    const complete = async text => {
      await write(page, text)
      await page.keyboard.press('Control+Space')
      await labels.first().waitFor()
      return labels.allTextContents()
    }
    await until(async () => {
      await write(page, 'SELECT * FROM fli')
      await page.keyboard.press('Control+Space')
      return labels
        .first()
        .waitFor({ timeout: 1000 })
        .then(
          () => true,
          () => false,
        )
    }, 'the catalogue is there')
    assert.deepEqual(await complete('SELECT * FROM fli'), ['flights', 'flights_of'])
    // What is said of the first entry lies beside the list.
    const [list, info] = [page.locator('.cm-tooltip-autocomplete > ul'), page.locator('.cm-completionInfo')]
    await info.waitFor()
    await until(async () => {
      const [a, b] = [await list.boundingBox(), await info.boundingBox()]
      return b.x >= a.x + a.width - 1 || b.y >= a.y + a.height - 1
    }, 'the note does not cover the entries')
    await screenshot(page, 'sql-completion')
    assert.deepEqual(await complete('SELECT * FROM "Odd Name", flights f JOIN fli'), ['flights', 'flights_of'])
    assert.equal((await complete('SELECT * FROM Odd'))[0], 'Odd Name')
    await labels.first().click()
    await page.getByRole('textbox', { name: 'Statements' }).filter({ hasText: 'FROM "Odd Name"' }).waitFor()
    assert.ok((await complete('SELECT fli')).some(l => l === 'flight_minutes'))
    for (const text of ["SELECT 'fli", '-- fli', 'SELECT /* fli']) {
      await write(page, text)
      await page.keyboard.press('Control+Space')
      // The list would be there by the time that an entry of another place is.
      assert.ok((await complete('SELECT fli')).length > 0)
      await write(page, text)
      await page.keyboard.press('Control+Space')
      await labels.first().waitFor({ state: 'detached' })
    }
  })
})
