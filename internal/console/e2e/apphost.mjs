// The page of a client that shows MCP Apps, made with the official library: it puts a view into a
// sandboxed frame with the policy that the specification requires, and speaks with it by AppBridge.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge'

const policy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; frame-src 'none'; base-uri 'self'"

window.opened = []
window.sizes = []

window.showView = async ({ html, tool, args, result, theme }) => {
  const frame = document.createElement('iframe')
  frame.setAttribute('sandbox', 'allow-scripts')
  frame.title = 'view'
  frame.srcdoc = html.replace('<head>', `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`)
  document.body.replaceChildren(frame)
  const bridge = new AppBridge(
    null,
    { name: 'host', version: '1' },
    { openLinks: {} },
    { hostContext: { theme, toolInfo: { tool } } },
  )
  bridge.onopenlink = async ({ url }) => {
    window.opened.push(url)
    return {}
  }
  bridge.onsizechange = ({ height }) => {
    window.sizes.push(height)
    frame.style.height = `${height}px`
  }
  const initialized = new Promise(done => (bridge.oninitialized = done))
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow))
  await initialized
  await bridge.sendToolInput({ arguments: args })
  await bridge.sendToolResult(result)
  window.app = bridge.getAppVersion()
}
