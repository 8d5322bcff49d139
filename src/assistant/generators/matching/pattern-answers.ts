import type { JsonValue } from '../../../protocol/index.ts';
import type { Command } from '../../conversation.ts';
import { readSpecial } from '../../commands/special.ts';
import { fold, type Message, messageOf, readMessage } from '../words/words.ts';
import { findAnswer } from './answers.ts';
import { cleanAnswer } from './names.ts';
import { afterCancel, bareText } from './phrases.ts';
import { setSlot, type Turn } from './turn.ts';
import { findNumbers } from './values/numbers.ts';
import { readYesNo } from './values/yes-no.ts';

const resume =
  /\b(?:continue|resume|carry on|go on|go back|back to|finish|keep going|proceed|pick up|where (?:we|i) left)\b/;
const none = /^(?:none|neither|nothing|no|nope|not now|no thanks|none of (?:them|those|these))\b/;
const pleased =
  /\b(?:satisfied|happy|good|great|excellent|perfect|awesome|fine|well|helpful|love|loved|nice|amazing|wonderful|pleased|content)\b|👍|😀|🙂/u;
const displeased =
  /\b(?:unsatisfied|dissatisfied|unhappy|bad|terrible|awful|poor|useless|horrible|disappointed|disappointing|worst|hate|hated|frustrat\w*|annoy\w*)\b|\bnot (?:at all |really |very |so )?(?:satisfied|happy|good|great|helpful|pleased)\b|👎|🙁|😠/u;

/** Answers to questions of built-in patterns, where the slot's format alone is not enough. */
export function patternAnswer(turn: Turn): Command[] | undefined {
  const { asked } = turn;
  if (asked === undefined || !turn.isPatternQuestion) return undefined;
  switch (asked.slot.name) {
    case 'continue_interrupted_flow_confirmation':
      return confirmation(turn);
    case 'interrupted_flow_to_continue':
      return choice(turn);
    case 'continue_conversation':
      return anythingElse(turn);
    case 'csat_score':
      return satisfaction(turn);
    default:
      return undefined;
  }
}

/** "Continue with the interrupted flow?": a direct answer to that flow's question also means yes. */
function confirmation(turn: Turn): Command[] | undefined {
  const { asked, message, pending } = turn;
  if (asked === undefined) return undefined;
  if (afterCancel(message)?.tokens.length === 0) return [setSlot(asked, false)];
  const said = readYesNo(message);
  if (said === undefined && resume.test(message.folded)) return [setSlot(asked, true)];
  const { requested } = turn;
  const names = requested.kind === 'start' ? requested.requests.map(({ flow }) => flow) : [];
  if (said === undefined && names.length > 0 && names.every((flow) => turn.isActive(flow))) {
    return [setSlot(asked, true)];
  }
  if (said !== undefined || pending === undefined || names.length > 0) return undefined;
  const { flow, step, slot } = pending;
  const answer = findAnswer(askedFor(turn, { flow, step, slot }), message);
  if (answer !== undefined || pending.kind !== 'name') return answer;
  const isName = message.tokens.length <= 3 && /^\p{Lu}/u.test(message.text);
  return isName ? [setSlot(pending, cleanAnswer(message.text, pending.prepositions))] : undefined;
}

/** The turn as if the user flow had asked its question. */
function askedFor(turn: Turn, activeCollect: NonNullable<Turn['input']['activeCollect']>): Turn {
  return turn.with(turn.message, { activeCollect });
}

/** Which of several interrupted flows to continue: by name, by position in the list, or none. */
function choice(turn: Turn): Command[] | undefined {
  const { asked, message, input } = turn;
  if (asked === undefined) return undefined;
  const frame = input.stack.findLast(
    (one) => one.type === 'pattern' && Array.isArray(one.context['interrupted_flow_ids']),
  );
  const context = frame?.type === 'pattern' ? frame.context : {};
  const ids = texts(context['interrupted_flow_ids']);
  const names = texts(context['interrupted_flow_names']);
  const said = new Set(message.tokens.map((token) => token.stem));
  const scores = ids.map((id, index) => {
    const words = messageOf(
      `${id.replaceAll(/[_-]/g, ' ')} ${names[index] ?? ''}`,
      message.language,
    ).tokens;
    return new Set(
      words.filter((word) => word.isContent && said.has(word.stem)).map((word) => word.stem),
    ).size;
  });
  const best = Math.max(0, ...scores);
  const winners = ids.filter((_, index) => best > 0 && scores[index] === best);
  const ordinal = choiceByPlace(message, ids.length);
  const chosen = winners.length === 1 ? winners[0] : ids[ordinal ?? -1];
  if (chosen !== undefined) return [setSlot(asked, chosen)];
  const isNone = none.test(bareText(message)) || afterCancel(message)?.tokens.length === 0;
  return isNone || readYesNo(message) === false ? [setSlot(asked, 'none')] : undefined;
}

/** "Anything else?": thanks and goodbyes mean no. */
function anythingElse(turn: Turn): Command[] | undefined {
  const { asked, message } = turn;
  if (asked === undefined || turn.requested.kind !== 'nothing') return undefined;
  const topic = turn.smallTalk;
  const isLeaving = topic === 'thanks' || topic === 'farewell';
  const isDone = afterCancel(message)?.tokens.length === 0;
  return isDone || isLeaving ? [setSlot(asked, false)] : undefined;
}

function satisfaction(turn: Turn): Command[] | undefined {
  const { asked, message } = turn;
  if (asked === undefined || turn.requested.kind === 'start') return undefined;
  const rating = findNumbers(message)[0]?.value;
  const said = readYesNo(message);
  const isUnhappy =
    displeased.test(message.folded) || (rating !== undefined && rating <= 2) || said === false;
  if (isUnhappy) return [setSlot(asked, 'unsatisfied')];
  const isHappy =
    pleased.test(message.folded) || (rating !== undefined && rating >= 4) || said === true;
  return isHappy ? [setSlot(asked, 'satisfied')] : undefined;
}

const ordinals = [
  /\b(?:first|1st|1|one)\b/,
  /\b(?:second|2nd|2|two)\b/,
  /\b(?:third|3rd|3|three)\b/,
  /\b(?:fourth|4th|4|four)\b/,
  /\b(?:fifth|5th|5|five)\b/,
];

/** "the second one", "last": the index in a list of `length` items. */
function ordinalOf(folded: string, length: number): number | undefined {
  const text = folded.replace(/\bone\b\s*$/, (word) => (folded.trim() === word.trim() ? word : ''));
  if (length > 0 && /\blast\b/.test(text)) return length - 1;
  const found = ordinals.flatMap((pattern, index) => (pattern.test(text) ? [index] : []));
  const only = found.length === 1 ? found[0] : undefined;
  return only !== undefined && only < length ? only : undefined;
}

const place =
  '(?:first|second|third|fourth|fifth|last|1st|2nd|3rd|4th|5th|[1-5]|one|two|three|four|five)';
const choosing =
  "(?:i(?:'d|'ll| will| would)? (?:take|want|like|choose|pick)|i mean|take|choose|pick|go with|the|option|button|number|choice)";
const wholeChoice = new RegExp(
  `^(?:${choosing} )*${place}(?: (?:one|option|button|choice|of (?:them|those|these)))?$`,
);

/** The index in a list of `length` items, if the whole message is a choice. "One moment" is not. */
export function choiceByPlace(message: Message, length: number): number | undefined {
  const text = bareText(message);
  return wholeChoice.test(text) ? ordinalOf(text, length) : undefined;
}

function texts(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/**
 * The meaning of a typed button title, if the last bot messages had such a button. "The second one"
 * chooses by position. A button that sets slots is applied. If the question expects text, a plain title
 * is the answer. Otherwise the button's payload is read as a message.
 */
export function typedButton(turn: Turn): Message | readonly Command[] | undefined {
  const { input, message } = turn;
  const buttons = [];
  for (const entry of input.transcript.toReversed()) {
    if (entry.speaker === 'user') break;
    buttons.unshift(...(entry.buttons ?? []));
  }
  if (buttons.length === 0) return undefined;
  const said = new Set([message.text, turn.verbatim].map(titleText));
  // A bare number can be the answer itself.
  const isNumber = /^\d+$/.test(message.text) && turn.asked?.kind !== 'category';
  const place = isNumber ? undefined : choiceByPlace(message, buttons.length);
  const button =
    buttons.find((one) => said.has(titleText(one.title))) ??
    (place === undefined ? undefined : buttons[place]);
  if (button === undefined) return undefined;
  const { asked } = turn;
  const special = readSpecial(button.payload, { domain: input.domain, flows: input.allFlows });
  const isText = asked?.slot.type === 'text' || asked?.slot.type === 'any';
  const title = readMessage(button.title, message.language);
  // "Cancel" cancels, even if a button with that title means no.
  const isRead = afterCancel(title) !== undefined || findAnswer(turn, title) !== undefined;
  if (special?.kind === 'commands' && (isText || !isRead)) return special.commands;
  if (isText && special === undefined) {
    const payload = readMessage(button.payload, message.language);
    return findAnswer(turn, payload) ?? [setSlot(asked, button.payload)];
  }
  const text = special === undefined ? button.payload : button.title;
  return text === message.text ? undefined : readMessage(text, message.language);
}

function titleText(title: string): string {
  return fold(title.trim()).replace(/[.!?]+$/, '');
}
