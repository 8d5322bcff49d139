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
export async function askPlan(
  given: Partial<Plan>,
  folder: string,
  { input, output }: QuestionStreams,
): Promise<Plan> {
  // Loaded on demand: only people at a terminal are asked.
  const { select, text } = await import('@clack/prompts');
  const ended = new AbortController();
  const end = (): void => ended.abort();
  // Otherwise a question would wait forever once the input ends.
  input.once('end', end);
  const streams = { input, output, signal: ended.signal };
  const answered = <T extends string>(answer: T | symbol): T => {
    // Clack answers with a symbol when the user leaves.
    if (typeof answer === 'symbol') {
      throw usage('no project created: you left before the last question');
    }
    return answer;
  };
  try {
    const kind =
      given.kind ??
      answered<ProjectKind>(
        await select({
          ...streams,
          message: 'What do you want to create?',
          options: Object.entries(projectKinds).map(([value, hint]) => ({
            // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a key of projectKinds
            value: value as ProjectKind,
            label: `${value}: ${hint}`,
          })),
        }),
      );
    const standard = defaultPlan({ ...given, kind }, folder);
    const ask = async (
      message: string,
      value: string,
      isValid: (typed: string) => boolean = () => true,
    ) =>
      answered(
        await text({
          ...streams,
          message,
          placeholder: value,
          defaultValue: value,
          validate: (typed = '') => (typed === '' || isValid(typed) ? undefined : nameRule),
        }),
      ).trim() || value;
    const name = given.name ?? (await ask('Name', standard.name, isName));
    const description =
      given.description ?? (await ask('Description, in one sentence', standard.description));
    return { kind, name, description };
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
