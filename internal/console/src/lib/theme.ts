// Dark or light: as the system says, until the user chooses.
import { effect, signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'
const name = 'spiced.theme'
const stored = localStorage.getItem(name)
export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  if (theme.value === 'system') localStorage.removeItem(name)
  else localStorage.setItem(name, theme.value)
})

export function nextTheme() {
  theme.value = theme.value === 'system' ? 'dark' : theme.value === 'dark' ? 'light' : 'system'
}
