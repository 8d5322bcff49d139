import { Dialog } from '../ui/dialog.tsx';
import { isHelpOpen, shortcuts } from './shortcuts.ts';

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
