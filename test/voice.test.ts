/**
 * Words that were replaced stay replaced. Each entry names what to write instead; everyday words remain
 * usable in sentences, so only identifiers and set phrases stand here.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const files = globSync(
  ['src/**/*.ts', 'inspector/src/**/*.{ts,tsx}', 'docs/**/*.md', 'README.md', 'ARCHITECTURE.md'],
  { cwd: root },
).filter((file) => !/^docs\/decisions\/|\.test\.|\.contract\.|\/testing\//.test(file));

/** What to write, and how to find what stood there. */
const replaced: readonly (readonly [instead: string, found: RegExp])[] = [
  ['module', /\brooms?\b(?! (?:in|at|for|of the) )(?=.*\b(?:door|layer|import)s?\b)/i],
  ['transport, endpoint or channel', /\b\w*[a-z]Doors?\b|\bDoor[A-Z]\w*|\bdoors?\b/],
  ['A2A adapter', /\bface\/|\bassistant face\b/],
  ['KeyedQueue', /\bLanes\b/],
  ['UpdateBuffer', /\bTelling\b/],
  ['StatusBroadcaster', /\b[Oo]nlookers?\b/],
  ['OutgoingMessage', /\bParcel\b/],
  ['Accumulator', /\bGathering\b/],
  ['wake', /\bnudge(?:s|d|All)?\b/],
  ['InvokerContext', /\bWorkings\b/],
  ['ConsumerPool', /\bIntake\b/],
  ['admission', /\bEntrance\b/],
  ['cancelOnAbort', /\bRecalls?\b/],
  ['retry', /\b[Pp]atien(?:ce|tly)\w*/],
  ['failover or takeover', /\b[Ss]uccession\b/],
  ['heartbeat or lease', /\bsigns? of life\b/i],
  // `bus-cancel-wishes` is a space in stores of earlier versions.
  ['cancellation request', /\b(?:(?<!bus-)cancel-wish|CancelWish|hearWishes)\w*/],
  ['isProvisional', /\bmayVanish\b/],
  ['isRetryable', /\bisOurFault\b/],
  ['deduplicates', /\bknowsRepeats\b/],
  ['Endpoints', /\bBusPlace\w*/],
  ['redirect listener', /\bopenInlet\b/],
  ['authMethod', /\bsecretPlace\b/],
  ['the actor: the client, the operator, the replica', /\bwhoever\b/i],
  ['fix', /\bmend(?:s|ed|ing)?\b/i],
  ['failed', /\bcame to nothing\b|\bcomes to nothing\b/i],
  ['result', /\bwhat comes of\b/i],
];

test.each(replaced)('write %s', (_instead, found) => {
  const hits = files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (found.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
  );
  expect(hits).toEqual([]);
});
