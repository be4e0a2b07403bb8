// Results of rows of JSON, as views take them, and what is copied of them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sources } from './lib.mjs'

test('results of rows of JSON', async t => {
  const { ofRows } = await sources(t, '/src/lib/result.ts')
  const { copyText } = await sources(t, '/src/lib/result-copy.ts')
  const { sortRows } = await sources(t, '/src/lib/result-sort.ts')
  const { suggest } = await sources(t, '/src/lib/chart.ts')
  const result = ofRows([
    { n: 2, at: '2024-01-02T00:00:00', s: 'a|b', o: { x: [1] }, b: true },
    { n: null, at: '2024-01-01T00:00:00Z', s: '', o: null, b: false },
    { n: 10.5, at: null, s: 'it\'s\n"x"', o: [], b: true, later: 1 },
  ])
  assert.deepEqual(
    result.columns.map(c => c.kind),
    ['number', 'time', 'text', 'nested', 'bool', 'number'],
  )
  assert.equal(result.rows, 3)
  assert.equal(result.text(1, 0), null)
  assert.equal(result.text(1, 2), '')
  assert.equal(result.text(0, 3), '{"x":[1]}')
  assert.equal(result.number(0, 1), Date.UTC(2024, 0, 2), 'a time without a zone is UTC')
  assert.ok(Number.isNaN(result.number(1, 0)))
  assert.deepEqual([...sortRows(result, { column: 0, down: true })], [2, 0, 1], 'NULL is last')
  assert.deepEqual([...sortRows(result, { column: 0, down: false })], [0, 2, 1])
  const many = ofRows(
    Array.from({ length: 20_000 }, (_, i) => ({ n: i % 7 ? (i * 7919) % 1009 : null, s: `${i % 13}` })),
  )
  for (const column of [0, 1])
    for (const down of [true, false]) {
      const value = i => many.order(i, column)
      const expected = Array.from({ length: many.rows }, (_, i) => i).sort((a, b) => {
        const [x, y] = [value(a), value(b)]
        if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1
        return x === y ? a - b : x < y === down ? 1 : -1
      })
      assert.deepEqual([...sortRows(many, { column, down })], expected, 'more rows than are sorted at once')
    }
  assert.equal(suggest(result).chart, 'line')

  const copy = (form, columns = [0, 2]) => copyText(result, { rows: [0, 1, 2], columns }, form)
  assert.equal(copy('CSV'), 'n,s\n2,a|b\n,""\n10.5,"it\'s\n""x"""\n')
  assert.equal(copy('TSV'), 'n\ts\n2\ta|b\n\t\n10.5\t"it\'s\n""x"""\n')
  assert.equal(copy('Markdown'), '| n | s |\n|--:|---|\n| 2 | a\\|b |\n| NULL |  |\n| 10.5 | it\'s<br>"x" |\n')
  assert.equal(
    copy('INSERT'),
    `INSERT INTO result (n, s) VALUES\n  (2, 'a|b'),\n  (NULL, ''),\n  (10.5, 'it''s\n"x"');\n`,
  )
  assert.deepEqual(JSON.parse(copy('JSON', [0, 3, 4])), [
    { n: 2, o: { x: [1] }, b: true },
    { n: null, o: null, b: false },
    { n: 10.5, o: [], b: true },
  ])
  assert.throws(() => copyText(result, { rows: [0, 1, 2], columns: [2] }, 'CSV', 5), /too much for the clipboard/)
  assert.equal(ofRows([]).rows, 0)
  // Names that are equal: JSON numbers them as the API does, and SQL does not tell a from A.
  const twins = { ...result, columns: [0, 0, 0].map((c, i) => ({ ...result.columns[c], name: ['a', 'A', 'a'][i] })) }
  twins.text = twins.json = () => '1'
  assert.match(copyText(twins, { rows: [0], columns: [0, 1, 2] }, 'INSERT'), /\(a, "A_1", a_2\)/)
  assert.deepEqual(JSON.parse(copyText(twins, { rows: [0], columns: [0, 1, 2] }, 'JSON')), [{ a: 1, A: 1, 'a:1': 1 }])
  // What is certainly too long is not written first.
  let read = 0
  const long = { ...twins, rows: 1e6, text: () => (read++, 'x'.repeat(100)) }
  const all = Uint32Array.from({ length: 1e6 }, (_, i) => i)
  assert.throws(() => copyText(long, { rows: all, columns: [0] }, 'TSV'), /too much for the clipboard/)
  assert.ok(read < 10_000, `${read} values were read`)
  // The order of DuckDB: code points, lists by their elements, NULL inside of them last.
  const sorted = (list, down = false) => {
    const data = { ...result, rows: list.length, order: r => list[r] }
    return [...sortRows(data, { column: 0, down })].map(i => list[i])
  }
  assert.deepEqual(sorted(['😀', 'ﬀ', 'z', 'é']), ['z', 'é', 'ﬀ', '😀'])
  assert.deepEqual(sorted([[10n], [9n], [1n, 2n], [], [null], [1n]]), [[], [1n], [1n, 2n], [9n], [10n], [null]])
  assert.deepEqual(sorted([[NaN], [1], [['b']], [['a']]].slice(0, 2)), [[1], [NaN]])
  assert.deepEqual(sorted([['b'], ['a', 'x'], ['a']], true), [['b'], ['a', 'x'], ['a']])
})
