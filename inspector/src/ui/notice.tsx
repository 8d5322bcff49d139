import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.tsx';

/** An error or a note. */
export function Notice(props: {
  readonly tone: 'bad' | 'info';
  readonly children: ComponentChildren;
}) {
  return (
    <div class={`notice ${props.tone}`} role={props.tone === 'bad' ? 'alert' : 'status'}>
      <Icon name="alert" />
      <div>{props.children}</div>
    </div>
  );
}

/** An error message, if there is one. */
export function Problem({ text }: { readonly text: string }) {
  return text === '' ? null : <Notice tone="bad">{text}</Notice>;
}

/** Shown in place of an empty list, with a hint how to fill it. */
export function Empty(props: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}
