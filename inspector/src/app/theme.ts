import { effect, signal } from '@preact/signals';

export type Theme = 'light' | 'dark';

const key = 'legate-inspector-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const chosen = signal<Theme | undefined>(saved());
const preferred = signal<Theme>(system.matches ? 'dark' : 'light');

export const theme = signal<Theme>('light');

/** Follows the system until the user chooses a theme. */
export function applyTheme(): void {
  system.addEventListener('change', () => {
    preferred.value = system.matches ? 'dark' : 'light';
  });
  effect(() => {
    theme.value = chosen.value ?? preferred.value;
    document.documentElement.dataset.theme = theme.value;
  });
}

export function toggleTheme(): void {
  const next = theme.peek() === 'dark' ? 'light' : 'dark';
  // The system's preference needs no stored choice.
  chosen.value = next === preferred.peek() ? undefined : next;
  if (chosen.peek() === undefined) localStorage.removeItem(key);
  else localStorage.setItem(key, next);
}

function saved(): Theme | undefined {
  const value = localStorage.getItem(key);
  return value === 'dark' || value === 'light' ? value : undefined;
}
