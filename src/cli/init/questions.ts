import { createInterface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { didYouMean } from '../../config/index.ts';
import { type ProjectKind, projectKinds } from '../commands/assistants.ts';
import { usage } from '../usage.ts';

/** The choices for a new project. */
export interface Plan {
  readonly kind: ProjectKind;
  readonly name: string;
  readonly description: string;
}

export interface QuestionStreams {
  readonly input: Readable;
  readonly output: Writable;
}

const descriptions: Readonly<Record<ProjectKind, string>> = {
  assistant: 'Books tables at a restaurant.',
  agent: 'Counts the words of a message.',
  worker: 'Counts the words of a message.',
};

/** The default choices. */
export function defaultPlan(given: Partial<Plan>, folder: string): Plan {
  const { kind = 'assistant' } = given;
  return {
    kind,
    name: given.name ?? nameFrom(folder, kind),
    description: given.description ?? descriptions[kind],
  };
}

/** Asks for the choices that the command line lacks: at most three questions, each with a default. */
export async function askPlan(
  given: Partial<Plan>,
  folder: string,
  { input, output }: QuestionStreams,
): Promise<Plan> {
  const lines = createInterface({ input, output });
  const ended = new AbortController();
  // Otherwise a question would wait forever once the input ends.
  lines.once('close', () => ended.abort());
  try {
    const ask = async (question: string, standard: string): Promise<string> => {
      const { signal } = ended;
      const answer = await lines.question(`${question} [${standard}] `, { signal }).catch(() => {
        throw usage('no project created: input ended before the last question');
      });
      return answer.trim() || standard;
    };
    let { kind } = given;
    while (kind === undefined) {
      const answer = await ask(
        `What do you want to create? (${projectKinds.join(', ')})`,
        'assistant',
      );
      kind = projectKinds.find((one) => one.startsWith(answer.toLowerCase()));
      const near = didYouMean(answer, projectKinds);
      if (kind === undefined) output.write(near === undefined ? '' : `Did you mean ${near}?\n`);
    }
    const standard = defaultPlan({ ...given, kind }, folder);
    let { name } = given;
    while (name === undefined) {
      const answer = await ask('Name?', standard.name);
      if (isName(answer)) name = answer;
      else output.write(`${nameRule}\n`);
    }
    const description =
      given.description ?? (await ask('Description, in one sentence?', standard.description));
    return { kind, name, description };
  } finally {
    lines.close();
  }
}

export const nameRule =
  'A name starts with a letter, followed by letters, digits, - or _; 64 characters at most.';

export function isName(text: string): boolean {
  return /^[a-z][\w-]{0,63}$/i.test(text);
}

function nameFrom(folder: string, kind: ProjectKind): string {
  const name = folder
    .replaceAll(/[^\w-]+/g, '-')
    .replace(/^[^a-z]+/i, '')
    .slice(0, 64);
  return isName(name) ? name : `my-${kind}`;
}
