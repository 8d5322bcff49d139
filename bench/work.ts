/** The job of a message for the agent under test; the prefix of its text. */
export type Work =
  /** One artifact with the text of the message. */
  | { readonly kind: 'echo' }
  /** One artifact in chunks. */
  | { readonly kind: 'chunks'; readonly count: number; readonly size: number }
  /** One artifact that is replaced repeatedly: endless events, and a task that stays small. */
  | { readonly kind: 'replacements'; readonly count: number; readonly size: number };

export function work(kind: 'chunks' | 'replacements', count: number, size: number): string {
  return `${kind} ${count} ${size}`;
}

export function workOf(text: string): Work {
  const [kind, count, size] = text.split(' ', 3);
  if (kind !== 'chunks' && kind !== 'replacements') return { kind: 'echo' };
  return { kind, count: Number(count), size: Number(size) };
}
