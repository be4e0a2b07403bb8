// How a text is cut into statements, and which parameters these have. Many cases are from reports about
// other editors: a semicolon or a colon in a string, in JSON, in a comment or in a dollar quote; casts
// and slices; the cursor right behind a semicolon.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sources } from './lib.mjs'

test('statements and parameters', async t => {
  const { statements, statementAt, parametersOf } = await sources(t, '/src/lib/sqltext.ts')
  const texts = text => statements(text).map(s => s.text)

  await t.test('a text is cut at its semicolons', () => {
    for (const [text, want] of [
      ['', []],
      [' ; ;; -- none\n/* ; */', []],
      ['SELECT 1', ['SELECT 1']],
      ['SELECT 1;SELECT 2 ; ', ['SELECT 1', 'SELECT 2']],
      ["SELECT '<p style=''color: red;''>;' ; x", ["SELECT '<p style=''color: red;''>;'", 'x']],
      ['SELECT "a;""b;" FROM t; y', ['SELECT "a;""b;" FROM t', 'y']],
      ["SELECT e'it\\'s;' ; z", ["SELECT e'it\\'s;'", 'z']],
      ['SELECT 1 -- ; not\n + 2; w', ['SELECT 1 -- ; not\n + 2', 'w']],
      ['SELECT /* ; /* nested ; */ ; */ 1; v', ['SELECT /* ; /* nested ; */ ; */ 1', 'v']],
      ['SELECT $$ ; $$, $tag$ ; $$ ; $tag$; u', ['SELECT $$ ; $$, $tag$ ; $$ ; $tag$', 'u']],
      ["SELECT 'unclosed ; ", ["SELECT 'unclosed ; "]],
      ['SELECT "unclosed ; ', ['SELECT "unclosed ; ']],
      ['SELECT $$ unclosed ; ', ['SELECT $$ unclosed ; ']],
      ['SELECT 1 /* unclosed ; ', ['SELECT 1']],
      ["SELECT 'é😀;'; t", ["SELECT 'é😀;'", 't']],
    ])
      assert.deepEqual(texts(text), want, text)
  })

  await t.test('the statement at the cursor', () => {
    for (const [text, want] of [
      ['SELECT 1;|\n\nSELECT 2;', 'SELECT 1'],
      ['SELECT 1; |\nSELECT 2;', 'SELECT 1'],
      ['SELECT 1|;SELECT 2;', 'SELECT 1'],
      ['SELECT 1;|SELECT 2;', 'SELECT 2'],
      ['SELECT 1;\n-- the second|\nSELECT 2;', 'SELECT 2'],
      ['SELECT 1;\nSELECT 2;|', 'SELECT 2'],
      ['SELECT 1;\nSELECT 2;\n\n-- end|', 'SELECT 2'],
      ['|\nSELECT 1; SELECT 2', 'SELECT 1'],
      ['|', undefined],
    ])
      assert.equal(statementAt(text.replace('|', ''), text.indexOf('|'))?.text, want, text)
  })

  await t.test('parameters', () => {
    for (const [text, want] of [
      ['SELECT $1, $2, $1', ['1', '2']],
      ['SELECT ?, ?', ['1', '2']],
      ['SELECT :name, $other, :name', ['name', 'other']],
      ['SELECT x::INT, y :: float, t.a::json', []],
      [`SELECT '{"key":false,"n":1}', '$2y$10$abc', "a:b"`, []],
      ['SELECT a[1:2], a[i:j], a[:n]', ['n']],
      ["SELECT {'a':1, 'b': :v}", ['v']],
      ['SELECT 1 -- :no $no ?\n /* $1 */ , :yes', ['yes']],
      ['SELECT f(x := :v)', ['v']],
      ['SELECT $$ $1 :x $$, $t$ ? $t$', []],
      ["SELECT TIME '12:30' WHERE a=:a AND b>$b_2", ['a', 'b_2']],
      ['SELECT :naïve', ['naïve']],
      ['SELECT $x + $X, $ä, $Ä', ['x', 'ä', 'Ä']],
      ['SELECT $2, $1, ?', ['2', '1', '3']],
      ['SELECT ?, $1, ?', ['1', '2']],
      ['SELECT $constructor, $__proto__', ['constructor', '__proto__']],
    ])
      assert.deepEqual(parametersOf(text), want, text)
  })

  await t.test('any text is cut, and in time that grows with its length', () => {
    const parts = ["'", '"', ';', '--', '/*', '*/', '$$', '$t$', '\n', ' ', 'a', '1', ':', '?', '\\', 'é', '😀', "e'"]
    let seed = 1
    const next = n => (seed = (seed * 48271) % 2147483647) % n
    for (let i = 0; i < 3000; i++) {
      const text = Array.from({ length: next(30) }, () => parts[next(parts.length)]).join('')
      let end = 0
      for (const s of statements(text)) {
        assert.ok(s.from >= end && s.to > s.from && s.to <= text.length, text)
        assert.equal(text.slice(s.from, s.to), s.text)
        end = s.to
      }
      parametersOf(text)
    }
    for (const part of parts) {
      const begin = performance.now()
      statements(part.repeat(500_000))
      assert.ok(performance.now() - begin < 3000, `${part}: ${performance.now() - begin} ms for 500,000 of them`)
    }
  })
})
