import type { ComponentChildren } from 'preact';

export type Tone = 'neutral' | 'accent' | 'good' | 'warn' | 'bad' | 'info';

export function Badge(props: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${props.tone ?? 'neutral'}`}>{props.children}</span>;
}
