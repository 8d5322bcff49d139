import { createInterface } from 'node:readline';
import { styleText } from 'node:util';

/** The message that opens a conversation with an assistant; it answers with its welcome. */
export const sessionStart = '/session_start';

/** Whether a person types and reads; in a pipe, only messages are printed. */
export function isTerminal(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY;
}

/** A hint for a person, apart from the conversation. */
export function note(text: string): void {
  if (isTerminal()) console.error(styleText('gray', text, { stream: process.stderr }));
}

/** The button of that number, as shown before. */
export function payloadOf(
  text: string,
  buttons: readonly { readonly payload?: string | undefined }[],
): string {
  const button = /^\d+\)?$/.test(text) ? buttons[Number.parseInt(text, 10) - 1] : undefined;
  return button?.payload ?? text;
}

/**
 * Reads lines until the input ends or one of `ends` is typed, and handles each before it reads the
 * next. `onInterrupt` returns true when it handled Ctrl+C, so that the conversation continues.
 */
export async function eachLine(
  answer: (text: string) => Promise<void>,
  options: { readonly ends: readonly string[]; readonly onInterrupt?: () => boolean },
): Promise<void> {
  const lines = createInterface({
    input: process.stdin,
    ...(isTerminal() && { output: process.stdout, prompt: styleText('cyan', 'you > ') }),
  });
  const { ends, onInterrupt } = options;
  if (onInterrupt !== undefined) {
    lines.on('SIGINT', () => {
      if (!onInterrupt()) lines.close();
    });
  }
  if (isTerminal()) lines.prompt();
  for await (const line of lines) {
    const text = line.trim();
    if (ends.includes(text)) break;
    if (text !== '') await answer(text);
    if (isTerminal()) lines.prompt();
  }
  lines.close();
}
