import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import { didYouMean } from '../config/index.ts';
import { ShellHistory } from './shell-history.ts';

/** The message that opens a conversation with an assistant; it answers with its welcome. */
export const sessionStart = '/session_start';

/** Whether input and output are a terminal; in a pipe, only messages are printed. */
export function isTerminal(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** Prints a hint for the user on a terminal, separate from the conversation. */
export function note(text: string): void {
  if (isTerminal()) console.error(styleText('gray', text, { stream: process.stderr }));
}

interface Button {
  readonly title: string;
  readonly payload?: string | undefined;
}

/** The message of a button, by its number or its title as shown before. */
export function payloadOf(text: string, buttons: readonly Button[]): string {
  const same = (title: string): boolean => title.toLowerCase() === text.toLowerCase();
  const button = /^\d+\)?$/.test(text)
    ? buttons[Number.parseInt(text, 10) - 1]
    : buttons.find(({ title }) => same(title));
  return button?.payload ?? text;
}

/** The commands of a shell, with their descriptions. */
export type ShellCommands = Readonly<Record<string, string>>;

const ends = ['/stop', '/exit', '/quit'];

/** The commands of every shell. */
const common: ShellCommands = {
  '1, 2, …': 'select a button; Tab completes commands and buttons',
  '//text': 'send a message that starts with /',
  '/help': 'list the commands',
  '/stop': 'leave the shell',
};

export function helpOf(commands: ShellCommands): string {
  const entries = Object.entries({ ...commands, ...common });
  return entries.map(([name, meaning]) => `${name.padEnd(10)}${meaning}`).join('\n');
}

interface ShellOptions {
  readonly commands: ShellCommands;
  /** The buttons of the last answer. */
  readonly buttons: () => readonly Button[];
  /** Returns true when it handled Ctrl+C, so that the conversation continues. */
  readonly onInterrupt?: () => boolean;
  /** Whether text that looks like a command is a message, such as the name of an intent. */
  readonly isMessage?: (command: string) => boolean;
}

/**
 * Reads lines until the input ends or the user leaves, and handles each before it reads the next.
 * Refuses unknown commands, which an agent would handle as messages. On a terminal, Ctrl+C clears the line
 * first, the arrow keys recall lines of earlier sessions, and Tab completes.
 */
export async function eachLine(
  answer: (text: string) => Promise<void>,
  { commands, buttons, onInterrupt, isMessage = () => false }: ShellOptions,
): Promise<void> {
  const names = [...Object.keys(commands), '/help', ...ends];
  const history = isTerminal() ? ShellHistory.open() : undefined;
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal() && {
      output: process.stdout,
      prompt: styleText('cyan', 'you > '),
      history: [...(history?.lines ?? [])],
      historySize: 2_000,
      removeHistoryDuplicates: true,
      completer: (line: string) => completions(line, names, buttons()),
    }),
  });
  lines.on('SIGINT', () => {
    if (lines.line !== '') {
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
    } else if (onInterrupt?.() !== true) {
      // The prompt of the user's shell starts on a new line.
      process.stdout.write('\n');
      lines.close();
    }
  });
  if (isTerminal()) lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (ends.includes(text)) break;
    // As in other shells, a line that starts with a space is not stored.
    if (text !== '' && !line.startsWith(' ')) history?.add(text);
    if (text === '/help') console.log(helpOf(commands));
    else if (isUnknown(text, names) && !isMessage(text.slice(1))) refuse(text, commands, names);
    else if (text !== '') await answer(text.startsWith('//') ? text.slice(1) : text);
    if (isTerminal()) lines.prompt();
  }
  lines.close();
}

/** Payloads such as `/SetSlots(a=1)` and `/intent{"a": 1}` are messages. */
function isUnknown(text: string, names: readonly string[]): boolean {
  const [, command] = /^(\/[\w-]*)(?:\s|$)/.exec(text) ?? [];
  return command !== undefined && !names.includes(command);
}

function refuse(text: string, commands: ShellCommands, names: readonly string[]): void {
  const [command = ''] = text.split(/\s/, 1);
  const near = didYouMean(command, names);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  console.error(`${command} is not a command.${hint}\n${helpOf(commands)}`);
  if (!isTerminal()) process.exitCode = 1;
}

/** The commands, or the titles of buttons, that start with the line. */
export function completions(
  line: string,
  names: readonly string[],
  buttons: readonly Button[],
): [string[], string] {
  const typed = line.toLowerCase();
  const known = line.startsWith('/') ? names : buttons.map(({ title }) => title);
  return [known.filter((name) => name.toLowerCase().startsWith(typed)), line];
}
