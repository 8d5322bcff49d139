import type { ComponentChildren } from 'preact';
import type { Tone } from './tone.ts';

export function Badge(props: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${props.tone ?? 'neutral'}`}>{props.children}</span>;
}
