import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';

/** Minimum width for two columns, in pixels. */
const wide = 960;

/** Whether the screen is wide enough for two columns. */
export const isWide = signal(innerWidth >= wide);

addEventListener('resize', () => {
  isWide.value = innerWidth >= wide;
});

interface SplitProps {
  readonly label: string;
  /** The width of the first pane, in percent. */
  readonly share: number;
  readonly children: readonly [ComponentChildren, ComponentChildren];
}

const within = (share: number): number => Math.min(80, Math.max(20, share));

/** Two panes with a divider that can be dragged, or moved with the arrow keys. */
export function Split({ label, share: initial, children }: SplitProps) {
  const [share, setShare] = useState(initial);
  const box = useRef<HTMLDivElement>(null);
  const onPointerMove = (event: PointerEvent): void => {
    const area = box.current?.getBoundingClientRect();
    if (area === undefined || event.buttons === 0) return;
    setShare(within(((event.clientX - area.left) / area.width) * 100));
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowLeft' ? -2 : event.key === 'ArrowRight' ? 2 : 0;
    if (step === 0) return;
    event.preventDefault();
    setShare(within(share + step));
  };
  return (
    <div class="split" ref={box}>
      <div class="split-side" style={{ flexBasis: `${share}%` }}>
        {children[0]}
      </div>
      <div
        class="split-handle"
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuenow={Math.round(share)}
        aria-valuemin={20}
        aria-valuemax={80}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={onPointerMove}
      />
      <div class="split-side" style={{ flexBasis: `${100 - share}%` }}>
        {children[1]}
      </div>
    </div>
  );
}
