/**
 * Measures how well the generator without a model understands messages: accuracy by category over the
 * corpora in test/understanding, and CPU per message.
 * Usage: npm run understanding [-- --failures [category]] [-- --project bank]. `--failures` lists the
 * misunderstood messages of the tuned part; the held-out part is only counted.
 */
import { parseArgs } from 'node:util';
import { type Judged, measure, projectNames } from '../test/understanding/measure.ts';

const { values } = parseArgs({
  options: { failures: { type: 'boolean', default: false }, project: { type: 'string' } },
});

const judged: Judged[] = [];
for (const name of projectNames) {
  if (values.project === undefined || values.project === name)
    judged.push(...(await measure(name)));
}

const percent = (rows: readonly Judged[]): string => {
  const met = rows.filter(({ isMet }) => isMet).length;
  const share = rows.length === 0 ? '-' : `${((100 * met) / rows.length).toFixed(1)} %`;
  return `${share.padStart(8)} ${`${met}/${rows.length}`.padStart(8)}`;
};

function line(title: string, rows: readonly Judged[]): void {
  const ofPart = (part: string) => percent(rows.filter((one) => one.part === part));
  console.log(`${title.padEnd(24)} ${ofPart('tuned')} ${ofPart('kept')}`);
}

console.log(`${''.padEnd(24)} ${'tuned'.padStart(17)} ${'kept apart'.padStart(17)}`);
for (const category of new Set(judged.map((one) => one.category))) {
  line(
    category,
    judged.filter((one) => one.category === category),
  );
}
console.log();
for (const name of projectNames)
  line(
    name,
    judged.filter((one) => one.project === name),
  );
line('all', judged);

if (values.failures) {
  for (const one of judged.filter(({ part, isMet }) => part === 'tuned' && !isMet)) {
    const { commands } = one.reaction;
    console.log(`\n${one.project} · ${one.category} · ${[...one.after, one.text].join(' / ')}`);
    console.log(`  expected ${one.expected}\n  got      ${JSON.stringify(commands)}`);
  }
}
