import { LegateError } from '../../protocol/index.ts';

/** First segments that begin a whole key; any other key is one within the namespace at hand. */
const roots: ReadonlySet<string> = new Set(['session', 'shared', 'a2a-inbox', 'a2a-facts']);
const longestKey = 500;

/**
 * The whole key that a key stands for: a path whose first segments are its namespace. Throws for
 * keys that are no paths.
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
    whole.length > longestKey ||
    /[\p{Cc}]|\/\/|(?:^|\/)\.\.?(?:\/|$)/u.test(whole)
  ) {
    throw new LegateError(
      'INVALID_PARAMS',
      `${JSON.stringify(key.slice(0, 100))} cannot be a key: use a path such as "notes/today" of up to ${longestKey} characters`,
    );
  }
  return whole;
}

/** The part of a key whose entries are counted together: `session/{id}`, `shared`, `a2a-inbox`, `a2a-facts`. */
export function namespaceOf(key: string): string {
  const [root = '', id = ''] = key.split('/', 3);
  return root === 'session' ? `session/${id}` : root;
}

/**
 * A piece of a key from a name that may hold anything: what separates is written otherwise.
 * @example keySegment('notes/today') // 'notes%2Ftoday'
 */
export function keySegment(name: string): string {
  const safe = encodeURIComponent(name.normalize('NFC').toWellFormed()).slice(0, 120);
  // A path of dots would mean another place.
  return /^\.*$/.test(safe) ? `_${safe}` : safe;
}
