import { styleText } from 'node:util';
import { plain } from '../client/text.ts';
import { counted } from '../counted.ts';
import type { Finding, Outcome, Report } from './finding.ts';

const marks: Readonly<Record<Outcome, readonly [string, 'green' | 'red' | 'yellow' | 'gray']>> = {
  passed: ['pass', 'green'],
  failed: ['FAIL', 'red'],
  warning: ['warn', 'yellow'],
  skipped: ['skip', 'gray'],
};

/** One finding: a line, and below it the actual behaviour and how to fix it. */
export function findingText(finding: Finding, stream: NodeJS.WriteStream): string {
  const { outcome, title, subject, id, detail, fix, specification } = finding;
  const [word, colour] = marks[outcome];
  const mark = styleText(colour, word, { stream });
  const place = specification === undefined ? id : `${id}, specification ${specification}`;
  const lines = [`${mark}  ${subject}: ${title}`];
  if (outcome !== 'passed') {
    lines.push(`      ${detail ?? ''}${outcome === 'skipped' ? '' : ` (${place})`}`);
    if (fix !== undefined) lines.push(`      fix: ${fix}`);
  }
  return plain(lines.join('\n').replaceAll(mark, word)).replace(word, mark);
}

export function summaryText({ agent, name, counts }: Report): string {
  const { passed, failed, warning, skipped } = counts;
  const who = name === undefined ? agent : `${name} at ${agent}`;
  return plain(
    `${who}: ${passed} passed, ${failed} failed, ${counted(warning, 'warning')}, ${skipped} skipped`,
  );
}
