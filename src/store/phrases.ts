/**
 * Phrases that the events of tasks repeat, and the control character that replaces each in a stored
 * row. JSON text contains no control characters except white space. Stored rows contain these
 * characters, so never change, remove or move a phrase. A new phrase needs a migration, because earlier
 * versions can't read it. A phrase that starts with another phrase comes before it. `\u0001` and
 * `\u0002` are the ids of the task and its context.
 */
export const phrases: ReadonlyMap<string, string> = new Map([
  ['\u0003', '{"statusUpdate":{'],
  ['\u0004', '{"artifactUpdate":{'],
  ['\u0014', ',"status":{"state":"TASK_STATE_SUBMITTED","timestamp":"'],
  ['\u0015', ',"status":{"state":"TASK_STATE_WORKING","timestamp":"'],
  ['\u0016', ',"status":{"state":"TASK_STATE_COMPLETED","timestamp":"'],
  ['\u0005', ',"status":{"state":"TASK_STATE_'],
  ['\u0006', '","timestamp":"'],
  ['\u0007', ',"artifact":{"artifactId":"'],
  ['\b', ',"parts":[{"text":"'],
  ['\u000b', '}]},"append":true,"lastChunk":false}}'],
  ['\f', '}]},"lastChunk":true}}'],
  ['\u000e', ',"history":[{"messageId":"'],
  ['\u000f', ',"message":{"messageId":"'],
  ['\u0010', ',"role":"ROLE_USER"'],
  ['\u0011', ',"role":"ROLE_AGENT"'],
  ['\u0012', 'Z"}}}'],
  ['\u0013', '"taskId":\u0001,"contextId":\u0002'],
]);

const marks = new Map([...phrases].map(([mark, phrase]) => [phrase, mark]));
const anyMark = new RegExp(`[${[...phrases.keys()].join('')}]`, 'g');
const anyPhrase = new RegExp(
  [...phrases.values()].map((phrase) => phrase.replaceAll(/[{}[\]]/g, String.raw`\$&`)).join('|'),
  'g',
);

/** Replaces phrases by their characters. */
export function pack(text: string): string {
  return text.replaceAll(anyPhrase, (phrase) => marks.get(phrase) ?? phrase);
}

/** Undoes `pack`. Leaves text unchanged that was stored without it. */
export function unpack(text: string): string {
  return text.replaceAll(anyMark, (mark) => phrases.get(mark) ?? mark);
}
