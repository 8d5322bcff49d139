import { signal } from '@preact/signals';
import { Dialog } from '../ui/dialog.tsx';
import { goTo, views } from './route.ts';

const shortcuts: readonly (readonly [keys: string, what: string])[] = [
  ['1 – 5', 'Go to Talk, Tasks, Push, Peers, Network'],
  ['n', 'New conversation'],
  ['/', 'Write a message, or search'],
  ['[  ]', 'Previous turn, next turn'],
  ['↑  ↓', 'Select in a list'],
  ['←  →', 'Switch tabs, move a divider'],
  ['Enter', 'Send; with Shift, start a new line'],
  ['Esc', 'Close the dialog'],
  ['?', 'Keyboard shortcuts'],
];

export const isHelpOpen = signal(false);

export function Help() {
  const close = (): void => {
    isHelpOpen.value = false;
  };
  return (
    <Dialog title="Keyboard shortcuts" onClose={close}>
      <dl class="keys">
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}

const actions = new Map<string, () => void>();

/** Calls back when the key is pressed outside of fields, until the returned function is called. */
export function onKey(key: string, action: () => void): () => void {
  actions.set(key, action);
  return () => {
    if (actions.get(key) === action) actions.delete(key);
  };
}

export function listenForKeys(): void {
  for (const [index, view] of views.entries()) onKey(String(index + 1), () => goTo({ view }));
  onKey('?', () => {
    isHelpOpen.value = true;
  });
  onKey('/', () => document.querySelector<HTMLElement>('[data-slash]')?.focus());
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const action = actions.get(event.key);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}
