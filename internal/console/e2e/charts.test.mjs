// Charts: what they make of all rows, of values that have no place, and what is drawn of it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBrowser, openPage, screenshot, serve, sources } from './lib.mjs'

test('the points of charts', async t => {
  const { drawing, edges } = await sources(t, '/src/lib/chartdata.ts')
  const { suggest, usable } = await sources(t, '/src/lib/chart.ts')
  const { finish } = await sources(t, '/src/lib/steps.ts')

  /** A result of so many rows; each column has its kind, and its value of a row: null, a number or a text. */
  const of = (rows, columns) => {
    const list = Object.entries(columns).map(([name, [kind, value]]) => ({ name, kind, type: kind, value }))
    return {
      columns: list,
      rows,
      text: (row, c) => (list[c].value(row) === null ? null : String(list[c].value(row))),
      number: (row, c) => (typeof list[c].value(row) === 'number' ? list[c].value(row) : NaN),
    }
  }
  const draw = (result, chart, x = 0, y = 1, color = -1) => finish(drawing(result, { chart, x, y, color }))
  const far = Date.UTC(200000, 0, 1)
  const from = list => ['number', i => list[i]]

  await t.test('times that JavaScript cannot hold, and numbers without a place, are left out', () => {
    const times = of(4, { t: ['time', i => [9.15e15, -2.2e14, far, null][i]], n: from([1, 2, 3, 4]) })
    for (const chart of ['line', 'scatter']) {
      const d = draw(times, chart)
      assert.deepEqual(
        d.points.map(p => p.x.toISOString()),
        [new Date(-2.2e14).toISOString(), '+200000-01-01T00:00:00.000Z'],
      )
      assert.match(
        d.notes[0],
        /^2 rows are left out, with NULL, NaN, infinity, .* or a time beyond the year 275,760\.$/,
      )
    }
    const numbers = of(5, { n: from([1, NaN, Infinity, 1.7e308, null]), m: from([1, 2, 3, 4, 5]) })
    assert.equal(draw(numbers, 'scatter').points.length, 1)
    assert.match(draw(numbers, 'heat').notes[0], /^4 rows are left out, with NULL, NaN, infinity or a number/)
    assert.equal(draw(of(1, { n: ['number', () => null] }), 'histogram').points.length, 0)
  })

  await t.test('what fails has its place in the chart', () => {
    const broken = of(1, {
      n: [
        'number',
        () => {
          throw new Error('no such batch')
        },
      ],
    })
    assert.equal(draw(broken, 'histogram').missing, 'The chart cannot be drawn: no such batch.')
  })

  await t.test('histograms and heat maps count all rows', () => {
    const five = of(1_000_000, { v: ['number', i => i % 5], s: ['text', i => 'abc'[i % 3]] })
    const d = draw(five, 'histogram', 0, -1)
    assert.deepEqual(
      d.points.map(p => [p.x, p.x2, p.y]),
      [0, 1, 2, 3, 4].map(v => [v, v + 1, 200_000]),
    )
    assert.deepEqual([d.notes, d.measure], [[], 'rows'])
    const cells = draw(five, 'heat', 1, 0)
    assert.equal(cells.points.length, 15)
    assert.equal(
      cells.points.reduce((n, p) => n + p.color, 0),
      1_000_000,
    )
    const mean = draw(
      of(6, { x: from([0, 0, 1, 1, 2, 2]), y: from([1, 1, 1, 1, 1, 1]), c: from([1, 3, 5, null, 7, 9]) }),
      'heat',
      0,
      1,
      2,
    )
    assert.deepEqual(
      mean.points.map(p => p.color),
      [2, 5, 8],
    )
    assert.deepEqual(mean.titles, ['x from', 'to', 'y from', 'to', 'mean of c'])
    const many = draw(of(1000, { a: ['text', i => `t${i % 100}`], n: ['number', i => i] }), 'heat')
    assert.match(many.notes[0], /^a: the 60 most frequent of 100 values are drawn\.$/)
  })

  await t.test('lines have each peak, in the order of x', () => {
    const alternating = draw(of(40_000, { x: ['number', i => i], y: ['number', i => (i % 2 ? 100 : 0)] }), 'line')
    assert.deepEqual([...new Set(alternating.points.map(p => p.y))].sort(), [0, 100])
    const peak = of(1_000_000, {
      t: ['time', i => (i * 7919) % 1_000_000],
      y: ['number', i => (i === 654_321 ? 1 : 0)],
    })
    const d = draw(peak, 'line')
    assert.ok(d.points.length <= 20_000)
    assert.ok(d.points.some(p => p.y === 1))
    assert.ok(d.points.every((p, i) => i === 0 || p.x >= d.points[i - 1].x))
    assert.match(d.notes[0], /^Of 1,000,000 points, the lowest and the highest of each of 2,000 parts/)
    const few = draw(of(3, { t: ['time', i => 3 - i], y: ['number', i => i] }), 'line')
    assert.deepEqual(
      few.points.map(p => p.y),
      [2, 1, 0],
    )
  })

  await t.test('lines over texts are no scribble', () => {
    const months = of(4, {
      m: ['text', i => ['b', 'a', 'a', 'b'][i]],
      n: ['number', i => i],
      c: ['text', i => 'xxyy'[i]],
    })
    assert.deepEqual(
      draw(months, 'line', 0, 1, 2).points.map(p => p.x + p.y + p.color),
      ['b0x', 'b3y', 'a1x', 'a2y'],
    )
    assert.match(draw(months, 'line').missing, /each text can be once in a line.* Bars add up/)
    assert.match(draw(of(5000, { m: ['text', i => `m${i}`], n: ['number', i => i] }), 'line').missing, /60 at most/)
  })

  await t.test('scatter plots and maps are a sample that is the same each time', () => {
    // Of every nth row, all would have the same longitude.
    const places = of(1_000_000, { x: ['number', i => i % 100], y: ['number', i => i / 1e5] })
    for (const chart of ['scatter', 'map']) {
      const d = draw(places, chart)
      assert.equal(d.points.length, 10_000)
      assert.equal(new Set(d.points.map(p => p.x)).size, 100)
      const north = d.points.filter(p => p.y >= 5).length
      assert.ok(north > 4700 && north < 5300, `${north} of 10,000 points are in one half`)
      assert.deepEqual(d.notes, ['10,000 of 1,000,000 points are drawn, chosen at random.'])
      assert.deepEqual(draw(places, chart).points, d.points)
    }
  })

  await t.test('bars leave out what has no length, and sums are called so only if there are any', () => {
    const values = of(5, { k: ['text', i => ['a', 'b', 'c', null, 'NULL'][i]], v: from([NaN, Infinity, null, 4, 5]) })
    const d = draw(values, 'bar')
    assert.deepEqual(
      d.points.map(p => p.y),
      [4, 5],
    )
    assert.match(d.notes[0], /^3 rows are left out, with NULL, NaN, infinity/)
    assert.equal(d.notes[1], '3 bars have no other rows, and no length.')
    assert.equal(d.measure, 'v')
    assert.equal(draw(of(2, { k: ['text', () => 'a'], v: from([1, 2]) }), 'bar').measure, 'sum of v')
    const many = draw(of(100_000, { k: ['number', i => i], v: ['number', i => i % 50_000] }), 'bar')
    assert.equal(many.points.length, 60)
    assert.deepEqual([many.points[0].y, many.points[59].y], [49_999, 49_970])
    assert.equal(many.notes[0], 'The 60 longest of 100,000 bars are drawn.')
  })

  await t.test('a column is on one axis', () => {
    const one = of(1, { s: ['text', () => 'a'], n: ['number', () => 1] })
    assert.deepEqual(suggest(one), { chart: 'bar', x: 0, y: 1, color: -1 })
    assert.equal(usable(one, { chart: 'bar', x: 0, y: -1, color: -1 }).y, -1, 'the number of rows can be chosen')
    const s = usable(one, { chart: 'scatter', x: 1, y: 1, color: -1 })
    assert.match(finish(drawing(one, s)).missing, /it needs another column for “Y” \(number or time\)/)
  })

  await t.test('intervals are round, and cover all values', () => {
    assert.deepEqual(edges(0.05, 0.95, 11, false, false), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1])
    const months = edges(Date.UTC(2023, 0, 15), Date.UTC(2024, 11, 15), 60, true, true)
    assert.deepEqual([months.length, months[1]], [25, Date.UTC(2023, 1, 1)])
    for (const [low, high, time] of [
      [5, 5],
      [-1e300, 1e300],
      [1e17, 1e17 + 64],
      [0, 5e-324],
      [-5e-324, 5e-324],
      [2 ** 53, 2 ** 53 + 2],
      [-8.64e15, 8.64e15, true],
      [8.64e15, 8.64e15, true],
      [8.64e15 - 1, 8.64e15, true],
      [0, 1, true],
      [0.25, 86_400_000 * 800, true],
    ])
      for (const whole of [true, false]) {
        const list = edges(low, high, 60, time, whole && Number.isInteger(low) && Number.isInteger(high))
        const about = `${low} to ${high}: ${list}`
        assert.ok(list.length >= 2 && list.length <= 62, about)
        assert.ok(list[0] <= low && list.at(-1) >= high, about)
        assert.ok(
          list.every((e, i) => Number.isFinite(e) && (i === 0 || e > list[i - 1])),
          about,
        )
        if (time) assert.ok(list.every(e => !Number.isNaN(+new Date(e))))
      }
  })

  await t.test('times of an axis are UTC, in 24 hours', async t => {
    const { tick } = await sources(t, '/src/ui/plot.tsx')
    const ticks = (...times) => times.map(x => new Date(x)).map((d, i, all) => tick(d, i, all))
    assert.deepEqual(ticks('2026-11-28T16:30Z', '2026-11-28T16:45Z', '2026-11-29T00:00Z'), [
      '16:30\n2026-11-28',
      '16:45',
      '00:00\n2026-11-29',
    ])
    assert.deepEqual(ticks('2026-11-28T16:30:00.600Z'), ['16:30:00.600\n2026-11-28'])
    assert.deepEqual(ticks('2026-11-28', '2026-11-29'), ['2026-11-28', '2026-11-29'])
    assert.deepEqual(ticks('2026-11-01', '2026-12-01'), ['2026-11', '2026-12'])
    assert.deepEqual(ticks('2026-01-01', '2027-01-01'), ['2026', '2027'])
    assert.deepEqual([tick(0.1 + 0.2), tick(1_234_567)], ['0.3', '1.235M'])
  })
})

test('charts of the SQL page', async t => {
  const spiced = await serve(t, { from: 'examples/quickstart' })
  const browser = await openBrowser(t)

  /** Runs a statement and shows its chart: the one that is suggested, or one by its name in the address. */
  const show = async (t, sql, more = '', o = {}) => {
    const page = await openPage(t, browser, `${spiced.url}/ui/sql?view=chart${more}&q=${encodeURIComponent(sql)}`, o)
    await page.locator('.code-editor:not([hidden])').waitFor()
    await page.getByRole('button', { name: /^Run Ctrl/ }).click()
    return page
  }
  const rows = async page => {
    await page.getByText('The chart as a table').click()
    return page.locator('.table tbody tr').evaluateAll(l => l.map(r => [...r.cells].map(c => c.textContent)))
  }
  const ticks = (page, axis) =>
    page.locator(`svg.plot [aria-label="${axis}-axis tick label"] text`).evaluateAll(l => l.map(x => x.textContent))

  await t.test('dates beyond those of JavaScript', async t => {
    const page = await show(t, `SELECT DATE '290000-12-31' AS d, 1 AS v UNION ALL SELECT DATE '5000-01-01 (BC)', 2`)
    await page.getByText('1 row is left out, with NULL').waitFor()
    assert.deepEqual(await rows(page), [['-004999-01-01T00:00:00.000Z', '2']])
  })

  await t.test('a map of one point', async t => {
    const page = await show(t, 'SELECT 48.1 AS latitude, 11.6 AS longitude')
    await page.locator('svg.plot circle').waitFor()
    await page.locator('svg.plot path[d]').first().waitFor()
    const box = await page.locator('svg.plot circle').boundingBox()
    const place = await page.locator('svg.plot').boundingBox()
    assert.ok(Math.abs(box.x + box.width / 2 - place.x - place.width / 2) < 20, 'the point is in the middle')
    await screenshot(page, 'chart-map-one')
  })

  await t.test('a mean of one row for each bar is no sum', async t => {
    const page = await show(t, 'SELECT origin, avg(delay_minutes) AS delay FROM flights GROUP BY origin')
    await page.getByRole('img', { name: 'Bars: origin, delay' }).waitFor()
    await page.locator('svg.plot').waitFor()
    assert.equal(await page.getByText('sum of').count(), 0)
    // The title of the axis is on none of its names.
    const title = await page.locator('[aria-label="y-axis label"]').boundingBox()
    for (const name of await page.locator('[aria-label="y-axis tick label"] text').all()) {
      const box = await name.boundingBox()
      assert.ok(title.y + title.height <= box.y + 1 || title.x + title.width <= box.x, 'the title is over a name')
    }
    await screenshot(page, 'chart-bars')
    await page.getByRole('combobox', { name: 'Chart' }).selectOption('Heat map')
    await page.locator('svg.plot rect').first().waitFor()
    await screenshot(page, 'chart-heat-text')
  })

  await t.test('lines: the ticks of dates and texts, the legend', async t => {
    const sql = `SELECT TIMESTAMP '2026-11-28 22:00' + i * INTERVAL 1 MINUTE AS at, i % 7 + k AS v, 'series ' || k AS s
  FROM range(240) t(i), range(3) u(k) ORDER BY random()`
    const page = await show(t, sql, '&chart=line&x=1&y=2&color=3')
    await page.getByText('series 0').first().waitFor()
    const labels = await ticks(page, 'x')
    assert.ok(labels.every(x => /^\d\d:\d\d/.test(x)))
    assert.equal(labels.filter(x => x.endsWith('2026-11-29')).length, 1)
    await page.locator('svg.plot', { hasText: 'at (UTC)' }).waitFor()
    const swatch = page.locator('.plot-swatch').first()
    const gap = await swatch.evaluate(s => {
      const range = document.createRange()
      range.selectNode(s.lastChild)
      return range.getBoundingClientRect().left - s.querySelector('svg').getBoundingClientRect().right
    })
    assert.ok(gap >= 4, `the swatch is ${gap} px from its text`)
    await screenshot(page, 'chart-lines')
    const texts = await show(t, `SELECT 'a long name ' || i AS s, i AS v FROM range(60) t(i)`, '&chart=line&x=1&y=2')
    await texts.locator('svg.plot').waitFor()
    assert.ok((await ticks(texts, 'x')).length <= 15, 'as many texts as have room')
    await screenshot(texts, 'chart-lines-texts')
    const many = await show(t, `SELECT 's' || i AS s, i AS v FROM range(5000) t(i)`, '&chart=line&x=1&y=2')
    await many.getByText('Bars add up the rows of each text').waitFor()
    await many.getByRole('combobox', { name: 'Chart' }).selectOption('Bars')
    await many.getByRole('combobox', { name: 'Length' }).selectOption('number of rows')
    await many.locator('svg.plot', { hasText: 'rows →' }).waitFor()
  })

  await t.test('charts of calls have times of UTC, in 24 hours', async t => {
    await fetch(`${spiced.url}/v1/tools/airport_km`, { method: 'POST', body: '{"from_iata":"CDG","to_iata":"MAD"}' })
    const page = await openPage(t, browser, `${spiced.url}/ui/usage?of=calls`)
    await page.locator('svg.plot').nth(1).waitFor()
    assert.equal(await page.locator('svg.plot', { hasText: 'UTC' }).count(), 2)
    const labels = await ticks(page, 'x')
    assert.ok(labels.length >= 4 && labels.every(x => /^\d\d:\d\d:\d\d/.test(x)), labels.join())
  })

  await t.test('charts of a million rows, none of which stops the page', async t => {
    const sql = `SELECT i AS id, 'text ' || i AS t, random() * 180 - 90 AS latitude, random() * 360 - 180 AS longitude,
  DATE '2000-01-01' + (i % 9000)::INT AS d, i % 5 AS v FROM range(1000000) x(i)`
    const page = await show(t, sql)
    await page.getByText('10,000 of 1,000,000 points are drawn').waitFor()
    await page.evaluate(() => {
      window.longest_ = 0
      new PerformanceObserver(list => {
        for (const task of list.getEntries()) window.longest_ = Math.max(window.longest_, task.duration)
      }).observe({ type: 'longtask' })
    })
    const choose = (name, option) => page.getByRole('combobox', { name, exact: true }).selectOption(option)
    const within = async (what, ready) => {
      const begun = Date.now()
      await ready.waitFor({ timeout: 60_000 })
      const longest = await page.evaluate(() => window.longest_)
      await page.evaluate(() => (window.longest_ = 0))
      t.diagnostic(`${what}: ${Date.now() - begun} ms, the longest task ${longest} ms`)
      assert.ok(longest <= 500, `${what}: a task of ${longest} ms`)
    }
    await choose('Chart', 'Bars')
    await choose('Bars', 't')
    await within('bars of too many texts', page.getByText('t has more than 100,000 different values'))
    await choose('Bars', 'd')
    await within('bars', page.getByText('The 60 longest of 9,000 bars are drawn.'))
    await choose('Chart', 'Heat map')
    await choose('X', 't')
    await within('heat map of too many texts', page.getByText('t has more than 100,000 different values'))
    await choose('X', 'd')
    await choose('Y', 'longitude')
    await within('heat map of numbers', page.locator('svg.plot rect').first())
    await screenshot(page, 'chart-heat-million')
    await choose('Chart', 'Lines')
    await within('lines', page.getByText(/^Of 1,000,000 points/))
    await screenshot(page, 'chart-lines-million')
    await choose('Chart', 'Histogram')
    await choose('Values', 'v')
    await within('histogram', page.locator('svg.plot rect').first())
    assert.deepEqual(
      await rows(page),
      [0, 1, 2, 3, 4].map(v => [`${v}`, `${v + 1}`, '200000']),
    )
    await screenshot(page, 'chart-histogram')
  })
})
