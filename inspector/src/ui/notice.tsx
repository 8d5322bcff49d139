import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

/** Something that went wrong, or that one should know. */
export function Notice(props: {
  readonly tone: 'bad' | 'warn' | 'info' | 'good';
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`notice ${props.tone}`} role={props.tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={props.tone === 'good' ? 'check' : 'alert'} />
      <div>{props.children}</div>
    </div>
  );
}

/** What went wrong, where anything did. */
export function Problem({ text }: { readonly text: string }) {
  return text === '' ? null : <Notice tone="bad">{text}</Notice>;
}

/** Stands where there is nothing yet, and says how there comes to be something. */
export function Empty(props: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h3>{props.title}</h3>
      {props.children}
    </div>
  );
}
