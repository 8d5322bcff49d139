/**
 * Words that were replaced stay replaced. Each entry names what to write instead; everyday words remain
 * usable in sentences, so only identifiers and set phrases stand here.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const files = globSync(
  [
    'src/**/*.ts',
    'inspector/src/**/*.{ts,tsx}',
    'docs/**/*.md',
    '{README,ARCHITECTURE,CONTRIBUTING,SECURITY,CODE_OF_CONDUCT}.md',
    'scripts/**/*.ts',
    'deploy/**/*',
    'site/{*.ts,index.md,.vitepress/*.ts,.vitepress/theme/*}',
    '.github/**/*.yml',
  ],
  { cwd: root, withFileTypes: true },
)
  .filter((entry) => entry.isFile())
  .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  .filter((file) => !/\.test\.|\.contract\.|\/testing\//.test(file));

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
  ['retentionBucket', /\b[wW]rittenUntil\b/],
  ['complete', /\b(?:[uU]n)?[sS]eal(?:ed|ing|s)\b/],
  ['defer', /\bsoon(?:\?)?\(|\bsoon:/],
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
  [
    'start',
    /\b(?:has|is)Begun\b|\bisBeginning\b|\b(?:begins(?!: ')|began|begun)\b|\b(?:to|may|can|will) begin\b/,
  ],
  ['working, running or busy', /\b(?:is|was|isn't|are) at work\b/],
  ['all agents, all callers', /\beverybody\b/],
  ['toleratedUntil', /\bpatientUntil\b/],
  ['publicPolicy', /\bsealedPolicy\b/],
  ['proceed', /\bgoOn\b/],
  ['stillRunning', /\batWork\b/],
  ['background work', /\berrands?\b/i],
  ['requestCancel', /\bcarryOutCancel\b/],
  ['aborted', /\bbroken off\b/i],
  [
    'underscores in log events',
    /'[a-z_]+(?:\.[a-z_]+)*\.[a-z]+-[a-z]+', ?(?:\{|fields)|push\.\w+-failed/,
  ],
];

const tests = globSync(['{src,test,inspector,bench}/**/*.{ts,tsx}'], {
  cwd: root,
  exclude: ['**/node_modules/**', 'test/voice.test.ts'],
});

/** Phrases that stay out of tests, too: of their names, comments and the errors that they expect. */
const phrases: readonly (readonly [instead: string, found: RegExp])[] = [
  ['the actor: the client, the operator, the replica', /\bwhoever\b/i],
  [
    'the actor or the object, not "those who"',
    /\b(?:to|for|by|only) those who\b(?! (?:are|were) )/i,
  ],
  ['fix', /\bmend(?:s|ed|ing)?\b/i],
  ['failed', /\bcame to nothing\b|\bcomes to nothing\b/i],
  ['result', /\bwhat comes of\b/i],
  ['in flight, claimed or unacknowledged', /\b(?:has|had|have|is|are) in hand\b/],
  ['current or active', /\bat hand\b/],
  ['is not a …, or invalid', /\b(?:that|what) (?:is|are) no (?!longer|more|part)[a-z]+\b/],
  ['invalid response', /\banswered what is not\b/],
  ['forever', /\bfor ever\b/],
  ['the outcome of', /\b[Ww]hat an? \w+ (?:came|comes) to\b|(?<!the user )\bwhat came of it\b/],
  ['resumed', /\btaken up again\b/],
  ['notified, reported', /\b(?:is|are|was|were) told of\b|\b[Tt]ells of\b|\bTold of\b/],
  ['abandoned, released or timed out', /\b(?:is|are|was|were) given up\b/],
  ['continue', /^\s*(?:\/\*\*|\*|\/\/).*\b(?:[Gg]oes|went) on\b(?! (?:top|the stack)\b)/],
];

/** What the names of tests say of the code. */
const titles: readonly (readonly [instead: string, found: RegExp])[] = [
  ['start', /\b(?:begins|began|begun)\b/],
  ['continue', /\b(?:goes|go|going|went) on\b/],
  ['forever', /\bfor ever\b/],
  ['during', /\bin the midst of\b/],
  ['aborted, or cut off', /\bbroken off\b|\bbreaks off\b/],
];

test.each(titles)('names of tests say $0', (instead, found) => {
  const hits = tests
    .filter((file) => file.endsWith('.test.ts') || file.endsWith('.contract.ts'))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      const named = text.matchAll(/^\s*(?:test|describe)(?:\.\w+)?\(\s*(['"`])(.+?)\1,/gm);
      return Array.from(named, ([, , name = '']) => `${file}: ${name}`);
    })
    .filter((named) => found.test(named));
  expect(hits, `write ${instead}`).toEqual([]);
});

const table = [
  ...replaced.map(([instead, found]) => ({ instead, found, read: files })),
  ...phrases.map(([instead, found]) => ({
    instead,
    found,
    // The changelog names what was replaced.
    read: [...new Set([...files, ...tests, 'CHANGELOG.md'])],
  })),
];

test.each(table)('write $instead', ({ found, read }) => {
  const hits = read.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .flatMap((line, index) => (found.test(line) ? [`${file}:${index + 1} ${line.trim()}`] : [])),
  );
  expect(hits).toEqual([]);
});
