import { defineConfig } from 'vite'

// The console is served below /ui/. `npm run dev` sends the calls of the API to a runtime on its
// default address.
export default defineConfig({
  base: '/ui/',
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': 'http://127.0.0.1:8090', '/metrics': 'http://127.0.0.1:8090' } },
})
