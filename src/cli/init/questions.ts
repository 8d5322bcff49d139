import type { Readable, Writable } from 'node:stream';
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
export function askPlan(
  given: Partial<Plan>,
  folder: string,
  streams: QuestionStreams,
): Promise<Plan> {
  return withQuestions(streams, async ({ choose, ask }) => {
    const kind = given.kind ?? (await choose('What do you want to create?', projectKinds));
    const standard = defaultPlan({ ...given, kind }, folder);
    const invalidName = (typed: string) => (isName(typed) ? undefined : nameRule);
    const name = given.name ?? (await ask('Name', standard.name, invalidName));
    const description =
      given.description ?? (await ask('Description, in one sentence', standard.description));
    return { kind, name, description };
  });
}

/** Asks for a folder where the project overwrites nothing. `problem` describes conflicts in a folder. */
export function askFolder(
  message: string,
  standard: string,
  problem: (folder: string) => string | undefined,
  streams: QuestionStreams,
): Promise<string> {
  return withQuestions(streams, ({ ask }) => ask(message, standard, problem));
}

interface Questions {
  readonly choose: <T extends string>(
    message: string,
    choices: Readonly<Record<T, string>>,
  ) => Promise<T>;
  /** `problem` checks the default too. */
  readonly ask: (
    message: string,
    standard: string,
    problem?: (typed: string) => string | undefined,
  ) => Promise<string>;
}

async function withQuestions<R>(
  { input, output }: QuestionStreams,
  work: (questions: Questions) => Promise<R>,
): Promise<R> {
  // Loaded on demand: needed only at a terminal.
  const { select, text } = await import('@clack/prompts');
  const ended = new AbortController();
  const end = (): void => ended.abort();
  // Without this, a question would wait forever after the input ends.
  input.once('end', end);
  const streams = { input, output, signal: ended.signal };
  const answered = <T extends string>(answer: T | symbol): T => {
    // Clack returns a symbol when the user cancels.
    if (typeof answer === 'symbol') {
      throw usage('no project created: you left before the last question');
    }
    return answer;
  };
  try {
    return await work({
      choose: async <T extends string>(message: string, choices: Readonly<Record<T, string>>) => {
        const options = Object.entries<string>(choices).map(([value, hint]) => ({
          value,
          label: `${value}: ${hint}`,
        }));
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key of the choices
        return answered(await select({ ...streams, message, options })) as T;
      },
      ask: async (message, standard, problem = () => undefined) => {
        const validate = (typed = '') => problem(typed.trim() || standard);
        const options = { message, placeholder: standard, defaultValue: standard, validate };
        return answered(await text({ ...streams, ...options })).trim() || standard;
      },
    });
  } finally {
    input.removeListener('end', end);
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
