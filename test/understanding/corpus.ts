import type { Command } from '../../src/assistant/index.ts';
import type { JsonObject, JsonValue } from '../../src/protocol/index.ts';

/**
 * A corpus is a text file. `## name` opens a category, `@ expectation` says what each of the following
 * lines has to lead to. An expectation is a list, separated by commas; the words in it:
 *
 * | `flow_id`       | starts the flow, and no other flow than the ones of the list                  |
 * | `slot=value`    | sets the slot                                                                 |
 * | `-slot`         | does not set the slot                                                         |
 * | `again slot`    | leaves the slot empty, and the flow that asked for it active                  |
 * | `?flow other`   | asks which of these flows is meant, or offers the one                         |
 * | `!flow`         | says that the flow is not available yet                                       |
 * | `~topic`        | small talk; thanks and goodbyes to "anything else?" say no                     |
 * | `refuse`        | starts nothing, and says so                                                   |
 * | `cancel`, `handoff`, `repeat`, `restart`, `skip` | that command                                 |
 *
 * `a or b` accepts both. `after: first / second` sends these messages before.
 */
export interface Utterance {
  readonly category: string;
  readonly text: string;
  /** Messages of the same conversation before this one. */
  readonly after: readonly string[];
  readonly expected: string;
}

export function parseCorpus(text: string): readonly Utterance[] {
  const utterances: Utterance[] = [];
  let category = '';
  let expected = '';
  let after: readonly string[] = [];
  for (const line of text.split('\n').map((one) => one.trim())) {
    if (line === '') continue;
    if (line.startsWith('## ')) category = line.slice(3);
    else if (line.startsWith('@ ')) {
      const [wanted = '', before = ''] = line.slice(2).split(/ after: /);
      expected = wanted;
      after = before === '' ? [] : before.split(' / ');
    } else {
      // A line may narrow the expectation: "send 20 to Tom recipient=Tom".
      const own = /^(.*?)((?:,? ?\b[a-z_]+=\S+)+)$/.exec(line);
      const more = own?.[2] === undefined ? '' : `, ${own[2].trim()}`;
      utterances.push({
        category,
        text: own?.[1] === undefined ? line : own[1].trim(),
        after,
        expected: `${expected}${more}`,
      });
    }
  }
  return utterances;
}

/** What a message led to. */
export interface Reaction {
  readonly commands: readonly Command[];
  /** Slot values that were set in this turn. */
  readonly set: readonly (readonly [name: string, value: JsonValue])[];
  readonly slots: JsonObject;
  readonly activeFlow: string | undefined;
}

export function meets(reaction: Reaction, expected: string): boolean {
  return expected.split(' or ').some((one) => meetsAll(reaction, one));
}

const plainCommands: Readonly<Record<string, Command['command']>> = {
  cancel: 'cancel flow',
  handoff: 'human handoff',
  repeat: 'repeat bot messages',
  restart: 'restart',
  skip: 'skip question',
};

function meetsAll(reaction: Reaction, expected: string): boolean {
  const words = expected.split(/\s*,\s*/);
  const flows = words.flatMap((word) => {
    const [first = ''] = word.split(' ');
    return /^[a-z_]+$/.test(word) && plainCommands[word] === undefined && word !== 'refuse'
      ? [word]
      : /^[a-z_]+ [a-z_]+=/.test(word)
        ? [first]
        : [];
  });
  const started = startedBy(reaction);
  const isSame = started.length === flows.length && flows.every((one) => started.includes(one));
  return (
    isSame && words.every((word) => meetsOne(reaction, word.replace(/^[a-z_]+ (?=[a-z_]+=)/, '')))
  );
}

function startedBy({ commands }: Reaction): string[] {
  return commands.flatMap((one) => (one.command === 'start flow' ? [one.flow] : []));
}

function meetsOne({ commands, set, slots, activeFlow }: Reaction, word: string): boolean {
  const [name = '', wanted] = word.split('=');
  if (wanted !== undefined)
    return set.some(([slot, value]) => slot === name && isSame(value, wanted));
  if (word.startsWith('-')) return !set.some(([slot]) => slot === word.slice(1));
  if (word.startsWith('again ')) {
    const isOpen = (slots[word.slice(6)] ?? null) === null;
    // Which flows start is compared beside it.
    const isLeft = commands.some((one) => one.command === 'cancel flow');
    return isOpen && activeFlow !== undefined && !isLeft;
  }
  if (word.startsWith('?')) {
    const wantedFlows = word.slice(1).split(' ');
    return commands.some(
      (one) => one.command === 'clarify' && wantedFlows.every((flow) => one.options.includes(flow)),
    );
  }
  if (word.startsWith('!')) {
    return commands.some((one) => one.command === 'cannot handle' && one.flow === word.slice(1));
  }
  if (word.startsWith('~')) {
    const isNo = set.some(([slot, value]) => slot === 'continue_conversation' && value === false);
    if (isNo && (word === '~thanks' || word === '~farewell')) return true;
    return commands.some((one) => one.command === 'chitchat' && one.topic === word.slice(1));
  }
  if (word === 'refuse') {
    const refusals = ['cannot handle', 'knowledge answer', 'chitchat'];
    return commands.length > 0 && commands.every((one) => refusals.includes(one.command));
  }
  const plain = plainCommands[word];
  return plain === undefined || commands.some((one) => one.command === plain);
}

function isSame(value: JsonValue, wanted: string): boolean {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.toLowerCase() === wanted.toLowerCase();
}
