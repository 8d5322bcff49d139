import { join } from 'node:path';
import { type Member, membersOf } from './declared-members.ts';

const root = join(import.meta.dirname, '../..');

/** Options within the options of exported functions, by the file and the interface that declare them. */
const interfaces = [
  ['Bounds of requests (`limits`)', 'src/service/service.ts', 'RequestLimits'],
  ['Bounds of request bodies (`limits`)', 'src/net/body.ts', 'BodyLimits'],
  ['Bounds of connections (`connections`)', 'src/http/http-server.ts', 'ConnectionLimits'],
  ['Certificates (`tls`)', 'src/service/tls.ts', 'TlsFiles'],
  ['Webhooks (`push`)', 'src/push/outbox.ts', 'PushDispatcherOptions'],
] as const;

/** Options that servers set themselves. */
const filledIn: Readonly<Record<string, readonly string[]>> = {
  PushDispatcherOptions: ['store', 'replica', 'scheduler', 'logger', 'taskAt', 'traceparent'],
};

/** A table for each interface, from its comments. */
export function nestedOptionTables(): readonly string[] {
  return interfaces.flatMap(([title, file, name]) => {
    const members = membersOf(name, join(root, file)).filter(
      (each) => filledIn[name]?.includes(each.name) !== true,
    );
    return [`### ${title}`, memberTable(members)];
  });
}

/** The properties of a type as a table. */
export function memberTable(members: readonly Member[]): string {
  const rows = members.map(({ name, isOptional, type, comment }) => {
    const words = plain(comment).replace(/\s*@example.*$/, '');
    const [meaning = '', standard = isOptional ? '' : 'required'] = words.split(/\s*@default\s*/);
    const cells = [`\`${name}\``, `\`${type.replaceAll('|', '\\|')}\``, standard, meaning];
    return `| ${cells.map((cell) => cell.trim()).join(' | ')} |`;
  });
  return ['| option | type | default | |', '|---|---|---|---|', ...rows].join('\n');
}

/** Converts a comment to one line of a table. */
export function plain(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .join(' ')
    .replaceAll('|', '\\|')
    .trim();
}
