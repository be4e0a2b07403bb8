// What the tests of the console share: a spiced of their own, and a browser that keeps record of what
// went wrong in its pages. Errors in the browser's log and violations of the policy fail the test.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const here = dirname(fileURLToPath(import.meta.url))
export const root = join(here, '../../..')
export const shots = process.env.SPICED_SCREENSHOTS ?? join(tmpdir(), 'spiced-screenshots')

/** The program under test: SPICED_BINARY, or one that is built now. */
export function program() {
  if (process.env.SPICED_BINARY) return process.env.SPICED_BINARY
  const path = join(tmpdir(), `spiced-console-${process.ppid}`)
  if (!existsSync(path)) execFileSync('go', ['build', '-o', path, './cmd/spiced'], { cwd: root, stdio: 'inherit' })
  return path
}

const browserFlags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const stacks = new WeakMap()

/** later runs what a test needs to clean up, the last first, so that a page is closed before its server. */
export function later(t, clean) {
  if (!stacks.has(t)) {
    stacks.set(t, [])
    t.after(async () => {
      for (const f of stacks.get(t).reverse()) await f()
    })
  }
  stacks.get(t).push(clean)
}

/** openBrowser starts Debian's Chromium, or the one in CHROMIUM. */
export function openBrowser(t, args = []) {
  return chromium
    .launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: [...browserFlags, ...args] })
    .then(browser => {
      later(t, () => browser.close())
      return browser
    })
}

/**
 * serve starts spiced with a Spicepod and returns its address when it listens. files are written into
 * the Spicepod's folder, from is a folder that is copied first.
 */
export async function serve(t, { from, files = {}, env = {}, args = [], port = 0 } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'spiced-console-'))
  if (from) cpSync(join(root, from), folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  const child = spawn(program(), ['serve', folder, '--http', `127.0.0.1:${port}`, '--log-format', 'json', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const ended = new Promise(done => child.once('exit', done))
  const log = []
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
  }
  later(t, async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const url = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', line => {
      log.push(line)
      const at = /"msg":"listening","endpoint":"http","url":"([^"]+)"/.exec(line)
      if (at) resolve(at[1])
    })
    void ended.then(code => reject(new Error(`spiced ended with ${code}:\n${log.join('\n')}`)))
  })
  await until(async () => (await fetch(url + '/v1/ready').catch(() => undefined))?.ok, 'spiced is ready')
  return { url, folder, log, stop, write: (name, text) => writeFileSync(join(folder, name), text) }
}

/** until waits for a condition. */
export async function until(condition, what, most = 30_000) {
  const end = Date.now() + most
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`)
    await new Promise(done => setTimeout(done, 25))
  }
}

/**
 * openPage opens a page of the console. What its log and its policy report is collected, and fails the
 * test at its end unless allowed matches it.
 */
export async function openPage(t, browser, url, { width = 1400, height = 900, theme = 'light', allowed = /^$/ } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const faults = []
  const keep = text => allowed.test(text) || faults.push(text)
  page.on('console', m => ['error', 'warning'].includes(m.type()) && keep(`${m.text()} ${m.location().url}`))
  page.on('pageerror', e => keep(String(e.stack ?? e)))
  page.on('dialog', d => {
    faults.push(`a dialog opened: ${d.message()}`)
    void d.dismiss()
  })
  later(t, async () => {
    await context.close()
    assert.deepEqual(faults, [])
  })
  await page.goto(url)
  return page
}

/** screenshot keeps a picture of the page, to be looked at. */
export async function screenshot(page, name) {
  mkdirSync(shots, { recursive: true })
  await page.screenshot({ path: join(shots, name + '.png') })
}

/** accessible runs axe on the page: no violation of WCAG 2.2 AA. */
export async function accessible(page, what) {
  const axe = join(here, '../node_modules/axe-core/axe.min.js')
  const { readFileSync } = await import('node:fs')
  const result = await page.evaluate(
    async source => {
      // eval is not available under the policy of the page; DevTools' context may run the source.
      if (!window.axe) new Function(source)()
      return window.axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
      })
    },
    readFileSync(axe, 'utf8'),
  )
  const found = result.violations.map(v => `${v.id}: ${v.help}: ${v.nodes.map(n => n.html.slice(0, 200)).join(' | ')}`)
  assert.deepEqual(found, [], what)
}

/** sources imports a module of the console's sources, for what is tested without a browser. */
export async function sources(t, name) {
  const { createServer } = await import('vite')
  const vite = await createServer({
    configFile: false,
    root: join(here, '..'),
    logLevel: 'error',
    appType: 'custom',
    server: { middlewareMode: true, watch: null, ws: false },
    optimizeDeps: { noDiscovery: true },
  })
  t.after(() => vite.close())
  return vite.ssrLoadModule(name)
}
