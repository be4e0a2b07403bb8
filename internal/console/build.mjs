// Builds the console and writes each file of it to dist/, compressed: what the program embeds.
// dist/ is committed, so that `go build` needs no Node.js.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const here = dirname(fileURLToPath(import.meta.url))
const [out, dist] = [join(here, 'out'), join(here, 'dist')]
execFileSync(process.execPath, [join(here, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'], {
  cwd: here,
  stdio: 'inherit',
})
rmSync(dist, { recursive: true, force: true })
for (const entry of readdirSync(out, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  const from = join(entry.parentPath, entry.name)
  const to = join(dist, from.slice(out.length + 1) + '.gz')
  mkdirSync(dirname(to), { recursive: true })
  writeFileSync(to, gzipSync(readFileSync(from), { level: 9 }))
}
