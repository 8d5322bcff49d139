import type { Command, Option } from 'commander';
import { catalogue } from '../commands/catalogue.ts';
import type { Shell } from '../commands/completion.ts';
import { bashScript } from './bash.ts';
import { fishScript } from './fish.ts';
import { zshScript } from './zsh.ts';

/** A command as completion sees it. */
export interface Completed {
  /** Words that lead to it: `task push-config list`; empty for `legate` itself. */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly flags: readonly Flag[];
}

export interface Word {
  readonly word: string;
  readonly summary: string;
}

export interface Flag extends Word {
  /** Whether a value follows. */
  readonly takesValue: boolean;
  /** The values that it may have, where they are few. */
  readonly choices: readonly string[];
}

/** Flags with few values; those that have the same name have the same values. */
export function choicesOf(
  commands: readonly Completed[],
): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, readonly string[]>();
  for (const { flags } of commands) {
    for (const { word, choices } of flags) if (choices.length > 0) found.set(word, choices);
  }
  return [...found];
}

/** Prints what makes a shell complete the commands and flags of `legate`. */
export async function completion(shell: Shell): Promise<void> {
  const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };
  process.stdout.write(scripts[shell](await completedCommands()));
}

export async function completedCommands(): Promise<readonly Completed[]> {
  const found: Completed[] = [
    {
      path: '',
      commands: catalogue.map(({ name, summary }) => ({ word: name, summary })),
      flags: [
        { word: '--help', summary: 'show help', takesValue: false, choices: [] },
        { word: '--version', summary: 'show the version', takesValue: false, choices: [] },
      ],
    },
  ];
  for (const { name, aliases = [], load } of catalogue) {
    for (const called of [name, ...aliases]) collect(await load(), called, found);
  }
  return found;
}

function collect(command: Command, path: string, into: Completed[]): void {
  into.push({
    path,
    commands: command.commands.map((inner) => ({
      word: inner.name(),
      summary: inner.description(),
    })),
    flags: [...command.options.flatMap(flagsOf), help],
  });
  for (const inner of command.commands) collect(inner, `${path} ${inner.name()}`, into);
}

const help: Flag = { word: '--help', summary: 'show help', takesValue: false, choices: [] };

function flagsOf({ long, description, required, optional, argChoices }: Option): readonly Flag[] {
  if (long === undefined || long === null) return [];
  const summary = description.split(/[;(]/, 1)[0]?.trim() ?? '';
  return [{ word: long, summary, takesValue: required || optional, choices: argChoices ?? [] }];
}
