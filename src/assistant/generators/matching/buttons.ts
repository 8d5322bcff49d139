import { fold, type Message, messageOf } from '../words/index.ts';
import { choiceByPlace } from './pattern-answers.ts';
import type { Turn } from './turn.ts';

/**
 * The message that a typed button title stands for, when the last bot messages had such a button:
 * its payload if that is plain text. "The second one" chooses by place. Payloads with a slash are
 * left to the buttons themselves.
 */
export function typedButton(turn: Turn): Message | undefined {
  const { input, message } = turn;
  const buttons = [];
  for (const entry of input.transcript.toReversed()) {
    if (entry.speaker === 'user') break;
    buttons.unshift(...(entry.buttons ?? []));
  }
  if (buttons.length === 0) return undefined;
  const said = fold(message.text).replace(/[.!?]+$/, '');
  // A bare number may be the answer itself.
  const isNumber = /^\d+$/.test(said);
  const place = isNumber ? undefined : choiceByPlace(message, buttons.length);
  const button =
    buttons.find((one) => fold(one.title.trim()) === said) ??
    (place === undefined ? undefined : buttons[place]);
  if (button === undefined) return undefined;
  const text = button.payload.startsWith('/') ? button.title : button.payload;
  return text === message.text ? undefined : messageOf(text);
}
