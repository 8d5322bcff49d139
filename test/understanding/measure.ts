import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  type Assistant,
  buildAssistant,
  type Command,
  loadProject,
  type TurnResult,
} from '../../src/assistant/index.ts';
import { templateOf } from '../../src/cli/init/template.ts';
import { isJsonObject, type JsonValue } from '../../src/protocol/index.ts';
import { blocksOf } from '../newcomer/markdown.ts';
import { meets, parseCorpus, type Reaction, type Utterance } from './corpus.ts';

const root = join(import.meta.dirname, '../..');

/** A project's folder; disposing of it removes what was written for it. */
interface ProjectFolder extends Disposable {
  readonly directory: string;
}

/** The projects with a corpus. */
const projects = {
  bank: (): ProjectFolder => ({
    directory: join(root, 'examples/bank'),
    [Symbol.dispose]() {},
  }),
  restaurant: () =>
    written(templateOf({ kind: 'assistant', name: 'inn', description: 'An inn.' }).files),
  tutorial: () => {
    const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
    const files = blocksOf(page).flatMap(({ title, body }) =>
      title !== undefined && /\.(?:yml|ts)$/.test(title) ? [[title, body] as const] : [],
    );
    return written(Object.fromEntries(files.filter(([title]) => title !== 'call.ts')));
  },
};
export type ProjectName = keyof typeof projects;
export const projectNames: readonly ProjectName[] = ['bank', 'restaurant', 'tutorial'];

/** `tuned` was looked at while the generator was written, `kept` was not. */
export type Part = 'tuned' | 'kept';

export interface Judged extends Utterance {
  readonly project: ProjectName;
  readonly part: Part;
  readonly isMet: boolean;
  readonly reaction: Reaction;
}

/** Monday, 16 November 2026. */
const now = Date.UTC(2026, 10, 16, 10);

/** Says every utterance of a project's corpus to its assistant, each in a conversation of its own. */
export async function measure(
  name: ProjectName,
  parts: readonly Part[] = ['tuned', 'kept'],
): Promise<readonly Judged[]> {
  using folder = projects[name]();
  const { project, problems } = await loadProject({ directory: folder.directory }, process.env);
  problems.throwIfErrors();
  await using assistant = await buildAssistant(project, {
    clock: { now: () => now },
    random: () => 0,
  });
  const judged: Judged[] = [];
  for (const part of parts) {
    const file = join(import.meta.dirname, part === 'tuned' ? `${name}.txt` : `${name}.kept.txt`);
    for (const utterance of parseCorpus(readFileSync(file, 'utf8'))) {
      const reaction = await react(assistant, utterance);
      const isMet = meets(reaction, utterance.expected);
      judged.push({ ...utterance, project: name, part, isMet, reaction });
    }
  }
  return judged;
}

async function react(assistant: Assistant, { after, text }: Utterance): Promise<Reaction> {
  let last: TurnResult | undefined;
  const log: TurnResult['events'][number][] = [];
  for (const message of [...after, text]) {
    last = await assistant.handle({
      senderId: 'ada',
      tracker: last?.tracker,
      text: message,
      history: async ({ last: count }) => log.slice(-count),
    });
    log.push(...last.events);
  }
  const events = last?.events ?? [];
  const user = events.find(({ event }) => event === 'user')?.['parse_data'];
  const commands = isJsonObject(user) ? user['commands'] : [];
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by this engine a moment ago
    commands: (commands ?? []) as readonly Command[],
    set: events.flatMap(({ event, name, value }): (readonly [string, JsonValue])[] =>
      event === 'slot' && typeof name === 'string' && value !== undefined && value !== null
        ? [[name, value]]
        : [],
    ),
    slots: last?.outcome.slots ?? {},
    activeFlow: last?.outcome.activeFlow,
  };
}

function written(files: Readonly<Record<string, string>>): ProjectFolder {
  const directory = mkdtempSync(join(tmpdir(), 'legate-understanding-'));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
  return {
    directory,
    [Symbol.dispose]() {
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
