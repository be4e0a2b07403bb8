// The focus does not get lost. A control can go away, or be disabled, by what it does: the button that
// starts a call, a row that opens a page. The browser would leave the focus nowhere, and a screen reader at
// the top of the page. So it moves to what the control stood in, and back when the control works again.

const places = 'main, dialog, section, article, form, fieldset, [role=region], [role=tabpanel], [role=log]'

const usable = (e: Element): boolean => e.isConnected && !e.matches(':disabled')

export function keepFocus() {
  let path: Element[] = [] // the control with the focus, and what it stands in, from the inside out
  let substitute: HTMLElement | undefined

  document.addEventListener('focusin', e => {
    if (e.target === substitute) return
    substitute = undefined
    path = []
    for (let at = e.target as Element | null; at; at = at.parentElement) path.push(at)
  })
  document.addEventListener('focusout', e => {
    const from = e.target as Element
    // The user left a control that is still there.
    setTimeout(() => {
      if (document.activeElement === document.body && path[0] === from && usable(from)) path = []
    })
  })
  new MutationObserver(() => {
    const control = path[0] as HTMLElement | undefined
    if (!control) return
    if (substitute && document.activeElement === substitute && usable(control)) {
      control.focus({ preventScroll: true })
      return
    }
    if (document.activeElement !== document.body || usable(control)) return
    substitute = path.find((e, i) => i > 0 && e.isConnected && e.matches(places)) as HTMLElement | undefined
    if (!substitute) return
    if (!substitute.hasAttribute('tabindex')) substitute.tabIndex = -1
    substitute.focus({ preventScroll: true })
  }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['disabled'] })
}
