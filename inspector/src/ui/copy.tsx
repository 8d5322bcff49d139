import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';

/** Copies a text, and confirms it briefly. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [isDone, setDone] = useState(false);
  // Browsers deny clipboard access to pages without TLS.
  if (!isSecureContext) return null;
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setDone(true);
      setTimeout(() => setDone(false), 1_500);
    });
  };
  return (
    <Button
      kind="quiet"
      icon={isDone ? 'check' : 'copy'}
      label={isDone ? 'Copied' : label}
      onClick={copy}
    />
  );
}

/** An id: truncated on narrow screens, copied as a whole. */
export function Id({ value, label }: { readonly value: string; readonly label: string }) {
  return (
    <span class="id">
      <code title={value}>{value}</code>
      <Copy text={value} label={`Copy the ${label}`} />
    </span>
  );
}

interface CopyableProps {
  readonly text: string;
  readonly label?: string;
  readonly children: ComponentChildren;
}

/** A block with a button in its corner that copies it. */
export function Copyable({ text, label = 'Copy', children }: CopyableProps) {
  return (
    <div class="copyable">
      <Copy text={text} label={label} />
      {children}
    </div>
  );
}
