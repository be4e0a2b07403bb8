// The SQL page: running, values of every type, what goes wrong, and a million rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accessible, openBrowser, openPage, screenshot, serve, until } from './lib.mjs'

/** Opens the page with a statement and waits for the editor. */
async function openSql(t, browser, spiced, sql, o = {}, more = '') {
  const page = await openPage(t, browser, `${spiced.url}/ui/sql?${more}q=${encodeURIComponent(sql)}`, o)
  await page.getByRole('textbox', { name: 'Statements' }).waitFor()
  await page.locator('.code-editor:not([hidden])').waitFor()
  return page
}

const runButton = page => page.getByRole('button', { name: /^Run Ctrl/ })
const summary = (page, text) => page.locator('main p[role=status]', { hasText: text }).waitFor()

/** Writes a statement in place of the one in the editor. */
async function write(page, sql) {
  await page.getByRole('textbox', { name: 'Statements' }).click()
  await page.keyboard.press('Control+a')
  await page.keyboard.insertText(sql)
}

/** Copies the whole result in a form and returns the clipboard. */
async function copied(page, form = 'TSV') {
  await page.getByLabel('Form of what is copied').selectOption(form)
  await page.getByRole('grid').focus()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Control+c')
  await page.getByText(/^Copied .*\.$/).waitFor()
  return page.evaluate(() => navigator.clipboard.readText())
}

// Each is written by the page as DuckDB writes it: the page's text is compared with a cast to VARCHAR.
const scalars = [
  `true`,
  `(-128)::TINYINT`,
  `(-32768)::SMALLINT`,
  `(-2147483648)::INTEGER`,
  `(-9223372036854775808)::BIGINT`,
  `9007199254740993`,
  `255::UTINYINT`,
  `65535::USMALLINT`,
  `4294967295::UINTEGER`,
  `18446744073709551615::UBIGINT`,
  `(-170141183460469231731687303715884105728)::HUGEINT`,
  `170141183460469231731687303715884105727::HUGEINT`,
  `340282366920938463463374607431768211455::UHUGEINT`,
  `0.1::FLOAT`,
  `123456789.123::FLOAT`,
  `1e38::FLOAT`,
  `0.1::DOUBLE`,
  `1::DOUBLE`,
  `1e15::DOUBLE`,
  `1e16::DOUBLE`,
  `1.7976931348623157e308::DOUBLE`,
  `5e-324::DOUBLE`,
  `0.0001::DOUBLE`,
  `0.00001::DOUBLE`,
  `-12.5::DOUBLE`,
  `'nan'::DOUBLE`,
  `'-inf'::DOUBLE`,
  `(-0.05)::DECIMAL(4,2)`,
  `1234567.89::DECIMAL(9,2)`,
  `12345678901234.5678::DECIMAL(18,4)`,
  `(-0.0000000000000000000000000000000000001)::DECIMAL(38,37)`,
  `99999999999999999999999999999999999999::DECIMAL(38,0)`,
  `DATE '1969-12-31'`,
  `DATE '0044-03-15 (BC)'`,
  `DATE '0001-01-01'`,
  `DATE '12345-12-31'`,
  `DATE '2000-02-29'`,
  `'infinity'::DATE`,
  `'-infinity'::DATE`,
  `TIME '01:02:03.1'`,
  `TIME '24:00:00'`,
  `TIMESTAMP '1969-12-31 23:59:59.999999'`,
  `TIMESTAMP '0044-03-15 (BC) 01:00:00'`,
  `'infinity'::TIMESTAMP`,
  `'2020-01-01 00:00:00'::TIMESTAMP_S`,
  `'2020-01-01 00:00:00.12'::TIMESTAMP_MS`,
  `'1969-12-31 23:59:59.123456789'::TIMESTAMP_NS`,
  `TIMESTAMPTZ '2020-06-01 12:00:00.5+02'`,
  `'-infinity'::TIMESTAMPTZ`,
  `INTERVAL '1 year 2 months 3 days 04:05:06.789'`,
  `INTERVAL '-1 month -3 days -04:05:06.7'`,
  `INTERVAL '0 days'`,
  `INTERVAL '26 hours'`,
  `'\\x00\\xFFab"~'::BLOB`,
  `''::BLOB`,
  `'0101'::BIT`,
  `uuid '12345678-1234-1234-1234-123456789abc'`,
  `'b'::ENUM('a','b')`,
  `'{"a": [1, 1.50]}'::JSON`,
  `''`,
  `'naïve 😀'`,
  `'POINT(1 2)'::GEOMETRY`,
  `'12:00:00.123456789'::TIME_NS`,
  `123456789012345678901234567890::BIGNUM`,
]

// Nested values are JSON, as the API writes them.
const nested = [
  `[1, NULL, 9007199254740993]`,
  `[]::INT[]`,
  `['a', 'b']::VARCHAR[2]`,
  `{'a': 1, 'b c': 'x"y', 'n': NULL}`,
  `MAP {'k': 1.5}`,
  `MAP {1: 'a', 2: NULL}`,
  `MAP {DATE '2020-01-01': [true]}`,
  `union_value(num := 2)`,
  `[union_value(k := 'v')]`,
  `[{'a': [1.10::DECIMAL(4,2)]}]`,
  `[DATE '0044-03-15 (BC)', 'infinity'::DATE]`,
  `['2020-01-01 00:00:00.1'::TIMESTAMP_NS]`,
  `[TIMESTAMPTZ '2020-06-01 12:00:00.5+02']`,
  `[1e21::DOUBLE, 1.0]`,
  `row(1, row('a', NULL))`,
  `[DATE '290000-12-31']`,
  `['\\xFF'::BLOB]`,
  `[INTERVAL '1 day']`,
  `['a'::ENUM('a','b')]`,
  `[340282366920938463463374607431768211455::UHUGEINT]`,
]

const unquoted = text => (text.startsWith('"') ? text.slice(1, -1).replaceAll('""', '"') : text)

test('the SQL page', async t => {
  const spiced = await serve(t, { from: 'examples/quickstart' })
  const browser = await openBrowser(t)
  const open = (t, sql, o, more) => openSql(t, browser, spiced, sql, o, more)
  const api = (sql, accept) =>
    fetch(spiced.url + '/v1/sql', { method: 'POST', body: sql, headers: { Accept: accept } }).then(r => r.json())

  await t.test('a value of each type is shown as DuckDB writes it', async t => {
    const page = await open(t, 'SELECT ' + scalars.map((s, i) => `${s} AS c${i}`).join(', '))
    await page.keyboard.press('Control+Enter')
    await runButton(page).click()
    await summary(page, `1 row, ${scalars.length} columns`)
    const got = (await copied(page)).split('\n')[1].split('\t').map(unquoted)
    const [want] = await api(
      'SELECT ' + scalars.map((s, i) => `(${s})::VARCHAR AS c${i}`).join(', '),
      'application/json',
    )
    for (const [i, s] of scalars.entries()) assert.equal(got[i], want[`c${i}`], s)
  })

  await t.test('nested values are JSON with all their digits', async t => {
    const list = nested.map((s, i) => `${s} AS c${i}`).join(', ')
    const page = await open(t, `SELECT ${list}`)
    await runButton(page).click()
    await summary(page, '1 row')
    const got = (await copied(page)).split('\n')[1].split('\t').map(unquoted)
    const raw = await fetch(spiced.url + '/v1/sql', { method: 'POST', body: `SELECT ${list}` }).then(r => r.text())
    const want = `[{${got.map((text, i) => `"c${i}":${text}`).join(',')}}]`
    assert.equal(want, raw)
    assert.equal(JSON.stringify(JSON.parse(await copied(page, 'JSON'))), JSON.stringify(JSON.parse(raw)))
  })

  await t.test('thousands of values of each type are as DuckDB writes them', async t => {
    const many = {
      d: `(hash(i)::DOUBLE - 9e18) * pow(10, (i % 580) - 290)`,
      f: `((hash(i)::DOUBLE - 9e18) * pow(10, (i % 60) - 50))::FLOAT`,
      huge: `hash(i)::HUGEINT * (hash(i + 1)::HUGEINT // 3) * (CASE WHEN i % 2 = 0 THEN -1 ELSE 1 END)`,
      dec: `((hash(i) % 1000000000)::DECIMAL(38, 0) - 500000000)::DECIMAL(38, 10) / 1000`,
      day: `DATE '1970-01-01' + ((hash(i) % 4000000)::INTEGER - 2000000)`,
      ts: `make_timestamp((hash(i) % 400000000000000000)::BIGINT - 200000000000000000)`,
      ns: `make_timestamp_ns((hash(i) % 4000000000000000000)::BIGINT - 2000000000000000000)`,
      tz: `make_timestamp((hash(i) % 400000000000000000)::BIGINT - 200000000000000000)::TIMESTAMPTZ`,
      t: `TIME '00:00:00' + to_microseconds((hash(i) % 86400000000)::BIGINT)`,
      iv: `to_months((hash(i) % 100)::INTEGER - 50) + to_days((hash(i + 1) % 100)::INTEGER - 50)
           + to_microseconds((hash(i + 2) % 200000000000)::BIGINT - 100000000000)`,
      b: `from_hex(md5(i::VARCHAR))`,
      n: `CASE WHEN i % 7 = 0 THEN NULL ELSE (hash(i) % 2) = 0 END`,
    }
    const names = Object.keys(many)
    const from = 'FROM range(5000) t(i) ORDER BY i'
    const page = await open(t, `SELECT ${names.map(n => `${many[n]} AS ${n}`).join(', ')} ${from}`)
    await runButton(page).click()
    await summary(page, '5,000 rows')
    const got = (await copied(page)).trim().split('\n').slice(1)
    const want = await api(
      `SELECT ${names.map(n => `(${many[n]})::VARCHAR AS ${n}`).join(', ')} ${from}`,
      'application/json',
    )
    for (const [i, line] of got.entries()) {
      const values = line.split('\t').map(unquoted)
      for (const [k, n] of names.entries()) {
        const same = text => (n === 'f' ? Math.fround(Number(text)) : text) // the number, not its digits
        assert.equal(same(values[k]), same(want[i][n] ?? ''), `${many[n]}, i = ${i}`)
      }
    }
  })

  await t.test('statements: all, the one at the cursor, the selection', async t => {
    const page = await open(t, "SELECT 1 AS a;\nSELECT ';' AS b; -- the end;")
    await page.getByRole('button', { name: 'Run all' }).click()
    await page.getByRole('tab', { name: "2: SELECT ';' AS b" }).click()
    await page.getByRole('columnheader', { name: 'b VARCHAR' }).waitFor()
    await page.getByRole('textbox', { name: 'Statements' }).click()
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('columnheader', { name: 'a INTEGER' }).waitFor()
    assert.equal(await page.getByRole('tab', { name: /^2:/ }).count(), 0)
    await page.getByRole('gridcell', { name: '1', exact: true }).waitFor()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('columnheader', { name: 'b VARCHAR' }).waitFor()
  })

  await t.test('an error is underlined at its place, behind other statements and wide characters', async t => {
    const page = await open(t, "SELECT 1;\n  SELECT '😀', nope FROM airports;SELECT 3", { allowed: /status of 400/ })
    await page.getByRole('button', { name: 'Run all' }).click()
    await page.getByRole('alert').filter({ hasText: 'Referenced column "nope" not found' }).waitFor()
    await page.getByText('there are columns such as name').first().waitFor()
    await page.getByRole('tab', { name: '3: SELECT 3 skipped' }).waitFor()
    const marked = page.locator('.cm-lintRange-error')
    await marked.waitFor()
    assert.equal(await marked.textContent(), 'nope')
    // EXPLAIN of the statement has the error at the same place.
    await page.getByRole('button', { name: 'Go to the place' }).click()
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByRole('tablist', { name: 'Results' }).waitFor({ state: 'detached' })
    await page.getByText('line 2, column 15').waitFor()
    await page.getByRole('button', { name: 'Go to the place' }).click()
    await page.keyboard.insertText('name, ')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('alert').filter({ hasText: 'nope' }).waitFor()
    await accessible(page, 'the SQL page with an error')
  })

  await t.test('parameters keep their digits', async t => {
    const page = await open(t, 'SELECT $n::HUGEINT + 1 AS n, $t AS t, $l::INT[] AS l, $x IS NULL AS x')
    await page.getByLabel('Type of $n').selectOption('number')
    await page.getByLabel('Value of $n').fill('90071992547409930')
    await page.getByLabel('Value of $t').fill("it's")
    await page.getByLabel('Type of $l').selectOption('json')
    await page.getByLabel('Value of $l').fill('[1,2]')
    await page.getByLabel('Type of $x').selectOption('null')
    await runButton(page).click()
    await summary(page, '1 row')
    assert.equal((await copied(page)).split('\n')[1], "90071992547409931\tit's\t[1,2]\ttrue")
    await page.getByLabel('Value of $n').fill('12a')
    await runButton(page).click()
    await page.getByRole('alert').filter({ hasText: 'parameter n: "12a" is not a number' }).waitFor()
    assert.ok(!page.url().includes('90071992547409930'), 'values of parameters are not part of the address')
  })

  await t.test('completion: tables, columns after an alias, functions', async t => {
    const page = await open(t, '')
    const options = page.locator('.cm-tooltip-autocomplete li')
    const editor = page.getByRole('textbox', { name: 'Statements' })
    await write(page, 'SELECT * FROM airports a WHERE a.')
    // The catalogue is loaded after the editor. Each key asks again, so the next one waits for the answer.
    await until(async () => {
      await page.keyboard.press('Control+Space')
      const country = options.filter({ hasText: 'country' }).first()
      return country.waitFor({ timeout: 1000 }).then(
        () => true,
        () => false,
      )
    }, 'columns are completed')
    await page.keyboard.press('Escape')
    // The names of the runtime's own tables are written in the console: all of them exist.
    await write(page, 'SELECT * FROM spiced.')
    await page.keyboard.press('Control+Space')
    await options.filter({ hasText: 'tool_calls' }).first().waitFor()
    const own = await options.locator('.cm-completionLabel').allTextContents()
    assert.ok(own.length > 10)
    for (const name of own)
      assert.ok(Array.isArray(await api(`SELECT * FROM spiced.${name} LIMIT 0`, 'application/json')), name)
    await page.keyboard.press('Escape')
    await write(page, 'SELECT * FROM spiced.tools t WHERE t.')
    await page.keyboard.press('Control+Space')
    await options.filter({ hasText: 'definition_tokens' }).first().waitFor()
    await page.keyboard.press('Escape')
    await write(page, 'SELECT airport_')
    await page.keyboard.press('Control+Space')
    await options.filter({ hasText: 'airport_km' }).first().click()
    await editor.filter({ hasText: 'airport_km(' }).waitFor()
  })

  await t.test('what is copied as INSERT is SQL, also with reserved words as names', async t => {
    const words = ['order', 'select', 'from', 'desc', 'end', 'window', 'lambda', 'qualify', 'table', 'Mixed', 'a b']
    const list = words.map((w, i) => `${i} AS "${w}"`).join(', ')
    const page = await open(
      t,
      `SELECT ${list}, DATE '2020-01-01' AS d, [1] AS l, INTERVAL '1 day' AS v, 'nan'::DOUBLE AS x`,
    )
    await runButton(page).click()
    await summary(page, '1 row')
    const [, names, values] = /^INSERT INTO result \((.*)\) VALUES\n(.*);\n$/s.exec(await copied(page, 'INSERT'))
    const [row] = await api(`SELECT ${names} FROM (VALUES ${values}) t(${names})`, 'application/json')
    assert.deepEqual(Object.keys(row).slice(0, words.length), words)
    assert.equal(row.d, '2020-01-01')
    assert.equal(row.v, '1 day')
  })

  await t.test('hostile names and values are text', async t => {
    const page = await open(
      t,
      `SELECT NULL AS n, 'NULL' AS t, '<img src=x onerror=alert(1)>' AS "<script>alert(1)</script>", 'a' || chr(8238) || 'b' AS "q""uote
newline", 1 AS d, 2 AS d, '' AS "e ", repeat('x', 1000000) AS big`,
    )
    await runButton(page).click()
    await summary(page, '1 row, 8 columns')
    assert.equal(await page.locator('.result-grid img, .result-grid script').count(), 0)
    await page.getByRole('gridcell', { name: 'a\\u{202e}b' }).waitFor()
    assert.equal(await page.locator('.result-grid .cell.null').count(), 1)
    const json = JSON.parse(await copied(page, 'JSON'))[0]
    assert.equal(json.d, 1)
    assert.equal(json['d:1'], 2, 'equal names are numbered in JSON, as the API does')
    assert.equal(json.big.length, 1_000_000)
    const insert = (await copied(page, 'INSERT')).slice(0, 200)
    assert.match(insert, /^INSERT INTO result \(.*d, d_1.*\) VALUES\n {2}\(NULL, 'NULL', '<img/s)
    await page.getByRole('grid').focus()
    await page.keyboard.press('Home')
    for (let i = 0; i < 7; i++) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').getByText('1,000,000 characters', { exact: false }).first().waitFor()
    await page.keyboard.press('Escape')
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)
    assert.ok(wide, 'the page is not wider than the window')
  })

  await t.test('no rows, many columns, sorting', async t => {
    const page = await open(t, 'SELECT 1 AS a WHERE false')
    await runButton(page).click()
    await page.getByText('The result has no rows.').waitFor()
    await page.getByRole('tab', { name: 'Chart' }).click()
    await page.getByText('No row has a value').waitFor()
    await page.getByRole('tab', { name: 'Table' }).click()

    await write(page, `SELECT ${Array.from({ length: 3000 }, (_, i) => `${i} AS c${i}`).join(', ')}`)
    await runButton(page).click()
    await summary(page, '1 row, 3,000 columns')
    await page.getByRole('grid').focus()
    await page.keyboard.press('End')
    const last = page.getByRole('columnheader', { name: 'c2999 INTEGER' })
    const { width } = await last.boundingBox()
    for (let i = 0; i < 3; i++) await page.keyboard.press('Alt+ArrowRight')
    await page.waitForFunction(
      w => document.querySelector('.head .active, .cell.active').offsetWidth === Math.round(w) + 72,
      width,
    )
    assert.ok((await page.getByRole('gridcell').count()) < 60, 'only the columns that can be seen are made')

    const long = `SELECT 1 /* ${'a long text, '.repeat(80_000)} */ AS a`
    await write(page, long)
    await page.keyboard.press('End')
    await page.keyboard.type(', 2 AS b')
    await runButton(page).click()
    await summary(page, '1 row, 2 columns')
    await page.getByText('is not part of the link').waitFor()

    await write(page, "SELECT * FROM (VALUES (2, 'b'), (NULL, 'n'), (10, 'a'), (-1, 'c')) t(i, s)")
    await runButton(page).click()
    await summary(page, '4 rows')
    const column = async () =>
      (await copied(page))
        .trim()
        .split('\n')
        .slice(1)
        .map(l => l.split('\t')[0])
    await page.getByRole('columnheader', { name: 'i INTEGER' }).click()
    assert.deepEqual(await column(), ['-1', '2', '10', ''])
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Enter')
    await page.locator('[role=columnheader][aria-sort=descending]').waitFor()
    assert.deepEqual(await column(), ['10', '2', '-1', ''])
  })

  await t.test('a failure in the middle of a result is told', async t => {
    const page = await open(
      t,
      "SELECT CASE WHEN i < 500000 THEN i ELSE error('broken') END AS i FROM range(1000000) t(i)",
      {
        allowed: /ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_HTTP2/,
      },
    )
    await runButton(page).click()
    await page.getByRole('alert').filter({ hasText: 'The result is incomplete' }).waitFor()
    await page.evaluate(() => (window.showSaveFilePicker = undefined))
    await page.getByRole('button', { name: 'CSV', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'Nothing was saved: the connection was closed' }).waitFor()
  })

  await t.test('cancel, and a second run while the first goes on', async t => {
    const page = await open(t, 'SELECT count(*) FROM range(100000000) a, range(100000) b')
    await runButton(page).click()
    const active = () => fetch(spiced.url + '/v1/sql/active').then(r => r.json())
    await page.waitForFunction(async url => (await (await fetch(url)).json()).total_count === 1, '/v1/sql/active')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Cancelled.').waitFor()
    await page.waitForFunction(async url => (await (await fetch(url)).json()).total_count === 0, '/v1/sql/active')
    await runButton(page).click()
    await page.waitForFunction(async url => (await (await fetch(url)).json()).total_count === 1, '/v1/sql/active')
    await write(page, 'SELECT 42 AS answer')
    await runButton(page).click()
    await page.getByRole('gridcell', { name: '42' }).waitFor()
    await page.waitForFunction(async url => (await (await fetch(url)).json()).total_count === 0, '/v1/sql/active')
    assert.equal((await active()).total_count, 0)
    // Rows that have arrived stay.
    await write(page, 'SELECT i, list_sum(list_transform(range(5000), lambda x: x * i)) AS s FROM range(1000000) t(i)')
    await runButton(page).click()
    await page.getByRole('gridcell').first().waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('The result is incomplete: the statement was cancelled.').waitFor()
    assert.ok((await page.getByRole('gridcell').count()) > 0)
    await page.waitForFunction(async url => (await (await fetch(url)).json()).total_count === 0, '/v1/sql/active')
    await write(page, 'SELECT 42 AS answer')
    await runButton(page).click()
    await page.getByRole('gridcell', { name: '42' }).waitFor()
    // A result is there on the way back from another page.
    await page.getByRole('link', { name: 'Tools', exact: true }).click()
    await page.getByRole('heading', { name: 'Tools' }).waitFor()
    await page.getByRole('link', { name: 'SQL', exact: true }).click()
    await page.getByRole('gridcell', { name: '42' }).waitFor()
  })

  await t.test('history is searched, used and cleared', async t => {
    const page = await open(t, 'SELECT 1 AS uno')
    await runButton(page).click()
    await summary(page, '1 row')
    await write(page, 'SELECT 2 AS dos')
    await runButton(page).click()
    await page.getByRole('columnheader', { name: 'dos INTEGER' }).waitFor()
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByLabel('Filter the history').fill('uno')
    await page.getByRole('button', { name: /SELECT 1 AS uno/ }).click()
    await page.getByRole('textbox', { name: 'Statements' }).filter({ hasText: 'uno' }).waitFor()
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByRole('button', { name: 'Clear' }).click()
    await page.getByText('No statement was run yet.').waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.getItem('spiced.sql.history')), null)
    assert.equal(await page.evaluate(() => JSON.stringify(localStorage).includes('uno')), false)
  })

  await t.test('the address has the statement and the chart', async t => {
    const page = await open(t, 'SELECT 1')
    const sql = "SELECT country, latitude, longitude FROM airports WHERE country <> '&'"
    await write(page, sql)
    await runButton(page).click()
    await summary(page, '33 rows')
    await page.getByRole('tab', { name: 'Chart' }).click()
    await page.getByRole('img', { name: 'Map of points: longitude, latitude' }).waitFor()
    await page.getByRole('combobox', { name: 'Chart' }).selectOption('Scatter plot')
    await page.getByRole('combobox', { name: 'Colour' }).selectOption('country')
    await page.getByText('small groups are drawn as “others”').waitFor()
    await page.waitForFunction(q => new URL(location.href).searchParams.get('q') === q, sql)
    const link = await openPage(t, browser, page.url())
    await link.locator('.code-editor:not([hidden])').waitFor()
    assert.equal(await link.getByRole('textbox', { name: 'Statements' }).textContent(), sql)
    assert.equal(await link.locator('svg.plot').count(), 0, 'a link runs nothing')
    await runButton(link).click()
    await link.getByRole('img', { name: 'Scatter plot: longitude, latitude, country' }).waitFor()
    // Another statement begins with a chart of its own.
    await write(link, 'SELECT country, count(*) AS n FROM airports GROUP BY ALL')
    await runButton(link).click()
    await link.getByRole('img', { name: 'Bars: country, n' }).waitFor()
  })

  await t.test('every chart of columns of every kind', async t => {
    const page = await open(
      t,
      `SELECT i AS n, i * 1.5 AS m, DATE '2024-01-01' + i::INTEGER AS d, TIMESTAMP '2024-01-01' + to_days(i::INTEGER) AS t,
  chr(65 + i::INTEGER % 5) AS s, 'x' || i % 3 AS u, i % 2 = 0 AS b, i % 3 = 0 AS c FROM range(40) r(i)`,
    )
    await runButton(page).click()
    await summary(page, '40 rows, 8 columns')
    await page.getByRole('tab', { name: 'Chart' }).click()
    const charts = page.locator('.chart-settings select').first()
    for (const chart of await charts.locator('option').allInnerTexts()) {
      await charts.selectOption(chart)
      const axes = page.locator('.chart-settings select')
      const choices = async at => ((await axes.count()) > at ? axes.nth(at).locator('option').allInnerTexts() : [''])
      for (const x of await choices(1)) {
        if (x) await axes.nth(1).selectOption(x)
        for (const y of await choices(2)) {
          if (y && y !== x) await axes.nth(2).selectOption(y)
          await page.locator('.plot-place > *, p.empty').first().waitFor()
          assert.equal(await page.getByText('cannot be drawn').count(), 0, `${chart} of ${x} and ${y}`)
        }
      }
    }
  })

  await t.test('plans, estimated and measured', async t => {
    const page = await open(t, 'SELECT country, count(*) FROM airports GROUP BY ALL ORDER BY 2')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page
      .getByRole('treeitem', { name: /~\d+ rows/ })
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Analyze' }).click()
    await page.getByText(/of CPU/).waitFor()
    await page
      .getByRole('treeitem', { name: /on the most expensive path/ })
      .first()
      .waitFor()
    await page.getByRole('treeitem').first().focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.locator('.plan dl').waitFor()
    await accessible(page, 'a plan')
  })

  await t.test('what a plan says of functions that are not SQL', async t => {
    const yaml = [
      'version: v1',
      'kind: Spicepod',
      'name: calls',
      'runtime:',
      '  functions: { enabled: true }',
      '  auth: { api-key: { enabled: true, keys: [first-key-of-the-test] } }',
      'tools:',
      "  - { name: clock, from: 'builtin:time_now', as_sql: true }",
    ].join('\n')
    const other = await serve(t, { files: { 'spicepod.yaml': yaml } })
    const page = await openPage(t, browser, `${other.url}/ui/sql?q=SELECT+clock()+FROM+range(20)`, {
      allowed: /status of 401/,
    })
    await page.getByRole('textbox', { name: 'Key' }).fill('first-key-of-the-test')
    await page.keyboard.press('Enter')
    await page.locator('.code-editor:not([hidden])').waitFor()
    await page.getByRole('button', { name: 'Analyze' }).click()
    await page
      .getByRole('listitem')
      .filter({ hasText: /^clock 1 calls? for 20 rows/ })
      .waitFor()
    // What one key may see is not shown to the next.
    await page.getByRole('button', { name: /Forget the key/ }).click()
    await page.getByRole('textbox', { name: 'Key' }).fill('first-key-of-the-test')
    await page.keyboard.press('Enter')
    await page.locator('.code-editor:not([hidden])').waitFor()
    assert.equal(await page.getByRole('treeitem').count(), 0)
  })

  await t.test('downloads', async t => {
    const page = await open(
      t,
      "SELECT i, 'x' || i AS s, DATE '2020-01-01' AS d, 1.50::DECIMAL(5,2) AS m FROM range(3) t(i)",
    )
    // A browser with a picker of files asks the user; without one, the file is offered as a download.
    await page.evaluate(() => (window.showSaveFilePicker = undefined))
    await runButton(page).click()
    await summary(page, '3 rows')
    const { readFileSync } = await import('node:fs')
    for (const [name, check] of [
      ['CSV', b => assert.match(b.toString(), /^i,s,d,m\r?\n0,x0,2020-01-01,1\.50/)],
      ['JSON', b => assert.equal(JSON.parse(b.toString())[2].s, 'x2')],
      ['Arrow', b => assert.equal(b.readInt32LE(0), -1)],
      ['Parquet', b => assert.equal(b.toString('latin1', 0, 4) + b.toString('latin1', b.length - 4), 'PAR1PAR1')],
    ]) {
      const saved = page.waitForEvent('download')
      await page.getByRole('button', { name, exact: true }).click()
      check(readFileSync(await (await saved).path()))
    }
    // DuckDB reads from the Parquet file what the statement returns.
    const columns = [
      'true AS b, (-8)::TINYINT AS i8, (-16)::SMALLINT AS i16, (-32)::INTEGER AS i32, 9007199254740993 AS i64',
      '255::UTINYINT AS u8, 65535::USMALLINT AS u16, 4294967295::UINTEGER AS u32, 18446744073709551615::UBIGINT AS u64',
      "0.1::FLOAT AS f, 'nan'::DOUBLE AS nan, (-0.05)::DECIMAL(4,2) AS d4, 1234567890123456789012345678.9::DECIMAL(38,1) AS d38",
      "DATE '0044-03-15 (BC)' AS bc, TIMESTAMP '1969-12-31 23:59:59.999999' AS ts, TIMESTAMPTZ '2020-06-01 12:00:00+02' AS tz",
      "'2020-01-01 00:00:00.123456789'::TIMESTAMP_NS AS ns, '2020-01-01 00:00:00.5'::TIMESTAMP_MS AS ms",
      "TIME '01:02:03.000004' AS t, 'naïve' AS s, '\\xFF\\x00'::BLOB AS bytes, '' AS e, 'b'::ENUM('a','b') AS en",
    ].join(', ')
    // The second row has NULL in each column.
    const both = `SELECT x.* FROM range(2) r(i) LEFT JOIN (SELECT 0 AS i, ${columns}) x ON r.i = x.i ORDER BY r.i`
    await write(page, both)
    await runButton(page).click()
    await summary(page, '2 rows')
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Parquet', exact: true }).click()
    const reader = await serve(t, {
      files: {
        'result.parquet': readFileSync(await (await saved).path()),
        'spicepod.yaml':
          'version: v1\nkind: Spicepod\nname: reader\ndatasets:\n  - { from: "file:result.parquet", name: result }\n',
      },
    })
    const csv = (url, sql) =>
      fetch(url + '/v1/sql', { method: 'POST', body: sql, headers: { Accept: 'text/csv' } }).then(r => r.text())
    assert.equal(await csv(reader.url, 'SELECT * FROM result'), await csv(spiced.url, both))

    await write(page, "SELECT [1] AS list, 'infinity'::DATE AS d")
    await runButton(page).click()
    await summary(page, '1 row')
    await page.getByRole('button', { name: 'Parquet', exact: true }).click()
    await page
      .getByRole('alert')
      .filter({ hasText: 'column "list": INTEGER[] is not written to Parquet here' })
      .waitFor()
  })

  for (const theme of ['light', 'dark'])
    for (const width of [400, 1400])
      await t.test(`no violation of WCAG: ${theme}, ${width} px`, async t => {
        const page = await open(t, 'SELECT * FROM airports WHERE country <> $c', { theme, width })
        await page.getByLabel('Value of $c').fill('JP')
        await runButton(page).click()
        await page.getByRole('gridcell').first().waitFor()
        await accessible(page, 'the table')
        await screenshot(page, `sql-table-${theme}-${width}`)
        await page.getByRole('tab', { name: 'Chart' }).click()
        await page.locator('svg.plot').first().waitFor()
        await page.getByText('The chart as a table').click()
        await accessible(page, 'the chart')
        await screenshot(page, `sql-chart-${theme}-${width}`)
      })
})
