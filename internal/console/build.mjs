// Builds the console, and the views that MCP clients show inside chats, and writes each file to dist/,
// compressed: what the program embeds. dist/ is committed, so that `go build` needs no Node.js.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'

const root = dirname(fileURLToPath(import.meta.url))
const dist = join(root, 'dist')

function write(name, content) {
  const to = join(dist, name + '.gz')
  mkdirSync(dirname(to), { recursive: true })
  writeFileSync(to, gzipSync(content, { level: 9 }))
}

const contentOf = file => (file.type === 'chunk' ? file.code : file.source)
const outputOf = built => (Array.isArray(built) ? built[0] : built).output

/** A view is one HTML file: clients show it in a sandbox that loads nothing. */
async function view(name) {
  const built = await build({
    root,
    configFile: false,
    logLevel: 'warn',
    build: {
      write: false,
      target: 'es2022',
      cssCodeSplit: false,
      modulePreload: false,
      rolldownOptions: {
        input: join(root, `src/apps/${name}.tsx`),
        output: { format: 'es', codeSplitting: false },
      },
    },
  })
  const files = outputOf(built)
  const code = files.find(f => f.type === 'chunk').code
  const style = files
    .filter(f => f.fileName.endsWith('.css'))
    .map(contentOf)
    .join('')
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>spiced</title>
<style>${style}</style></head>
<body><div id="app"></div><script type="module">${code.replaceAll('</script', '<\\/script')}</script></body></html>
`
}

rmSync(dist, { recursive: true, force: true })
const pages = await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'warn', build: { write: false } })
for (const file of outputOf(pages)) write(file.fileName, contentOf(file))
for (const name of ['result', 'cards']) write(`apps/${name}.html`, await view(name))
