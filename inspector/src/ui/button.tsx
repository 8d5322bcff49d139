import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Icon, type IconName } from './icon.tsx';

interface ButtonProps {
  readonly onClick?: () => void;
  readonly kind?: 'primary' | 'plain' | 'quiet' | 'danger';
  readonly icon?: IconName;
  /** The accessible name of a button without text. */
  readonly label?: string;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
  readonly type?: 'button' | 'submit';
  readonly children?: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { kind = 'plain', icon, label, children, type = 'button' } = props;
  return (
    <button
      type={type}
      class={`button ${kind}${children === undefined ? ' bare' : ''}`}
      onClick={props.onClick}
      disabled={props.disabled}
      aria-label={label}
      title={label}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
    >
      {icon !== undefined && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

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
