import { LegateError } from '../../protocol/index.ts';

/** First segments of absolute keys; any other key is relative to the current namespace. */
const roots: ReadonlySet<string> = new Set(['session', 'shared', 'a2a-inbox', 'a2a-facts']);
const maxKeyLength = 500;

/**
 * Resolves a key to an absolute key: a path that starts with its namespace. Throws for invalid
 * paths.
 * @example wholeKey('notes', 'session/1') // 'session/1/notes'
 */
export function wholeKey(key: string, namespace: string): string {
  const trimmed = key
    .trim()
    .normalize('NFC')
    .replace(/^\/+|\/+$/g, '');
  const [root = ''] = trimmed.split('/', 1);
  const whole = roots.has(root) ? trimmed : `${namespace}/${trimmed}`;
  if (
    trimmed === '' ||
    whole.length > maxKeyLength ||
    /[\p{Cc}]|\/\/|(?:^|\/)\.\.?(?:\/|$)/u.test(whole)
  ) {
    throw new LegateError(
      'INVALID_PARAMS',
      `${JSON.stringify(key.slice(0, 100))} cannot be a key: use a path such as "notes/today" of up to ${maxKeyLength} characters`,
    );
  }
  return whole;
}

/** The part of a key whose entries are counted together: `session/{id}`, `shared`, `a2a-inbox`, `a2a-facts`. */
export function namespaceOf(key: string): string {
  const [root = '', id = ''] = key.split('/', 3);
  return root === 'session' ? `session/${id}` : root;
}

/** Encodes any name as one segment of a key: separators are escaped. */
export function keySegment(name: string): string {
  const safe = encodeURIComponent(name.normalize('NFC').toWellFormed()).slice(0, 120);
  // A segment of dots alone would change the path.
  return /^\.*$/.test(safe) ? `_${safe}` : safe;
}

/** The namespace of a conversation in working memory. */
export function sessionNamespace(contextId: string): string {
  return `session/${keySegment(contextId)}`;
}
