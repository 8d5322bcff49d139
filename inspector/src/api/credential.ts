import { signal } from '@preact/signals';

/** The operator's credential. Kept only while the page is open. */
export type Credential =
  | { readonly kind: 'bearer'; readonly value: string }
  | { readonly kind: 'header'; readonly name: string; readonly value: string }
  | { readonly kind: 'token'; readonly value: string };

export const credential = signal<Credential | undefined>(undefined);
/** Why the server refuses access; empty while it grants access. */
export const refusal = signal('');

/** The same request with the operator's credential. */
export function withCredential(url: URL, headers: Headers): URL {
  const given = credential.peek();
  if (given === undefined) return url;
  if (given.kind === 'token') {
    const keyed = new URL(url);
    keyed.searchParams.set('token', given.value);
    return keyed;
  }
  if (given.kind === 'bearer') headers.set('authorization', `Bearer ${given.value}`);
  else headers.set(given.name, given.value);
  return url;
}
