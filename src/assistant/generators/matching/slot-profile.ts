import { compilePatternInText, PatternError, type PatternInText } from '../../../regex/index.ts';
import { oncePer } from '../../once-per.ts';
import { describedPattern, requiredPattern } from '../../conditions/condition.ts';
import type { FlowQuestion } from '../../flows/flow-slots.ts';
import { english } from '../words/language.ts';
import { fold, messageOf } from '../words/words.ts';
import { wordsOf } from './values/categories.ts';
import { type TimeUnit, unitIn } from './values/units.ts';

/** How values of a slot are recognised. */
export type SlotKind =
  | 'number'
  | 'yes-no'
  | 'category'
  | 'email'
  | 'phone'
  | 'iban'
  | 'date'
  | 'time'
  | 'date-time'
  /** Matches a regular expression of the project. */
  | 'pattern'
  /** A short text: a name, a place, a thing. */
  | 'name'
  /** Any text, word for word. */
  | 'free';

/** What the name, the description and the rules of a slot reveal about its values. */
export interface SlotProfile extends FlowQuestion {
  readonly kind: SlotKind;
  /** Words that precede the value: "to" for a recipient. */
  readonly prepositions: readonly string[];
  readonly pattern?: PatternInText;
  /** Stems with which users name the slot: "the amount". */
  readonly names: ReadonlySet<string>;
  /** Stems of its description. */
  readonly described: ReadonlySet<string>;
  /** A number that is money. */
  readonly isMoney: boolean;
  /** The unit of time that a number counts. */
  readonly unit?: TimeUnit;
  /** A number of people. */
  readonly isPeople: boolean;
  /** For kind `pattern`: the kind that its words indicate. */
  readonly form: SlotKind;
  /** For dates: whether they are in the past, and whether the slot is the start or the end of a period. */
  readonly prefers: 'past' | 'future';
  readonly edge?: 'start' | 'end';
}

const kinds: readonly (readonly [SlotKind, RegExp])[] = [
  ['email', /\be ?-?mail\b/],
  ['phone', /\b(?:phone|mobile|telephone|cell)\b/],
  ['iban', /\b(?:iban|account number)\b/],
  ['date-time', /\bdate ?time\b|\bdate and time\b|\bdate.{1,12}\btime\b/],
  ['date', /\b(?:date|day|deadline|birthday|dob|check ?in|check ?out|when)\b/],
  ['time', /\b(?:time|hour)\b/],
  [
    'free',
    /\b(?:reason|message|note|comment|feedback|description|detail|details|question|query|text|complaint|problem|issue|review|story|purpose|reference|subject|topic|address|requests?|remarks?|wish|wishes|instructions?|preferences?|allerg(?:y|ies))\b/,
  ],
];

/** Maps words of the slot to the words that precede its value. */
const announced: readonly (readonly [RegExp, readonly string[]])[] = [
  [/\b(?:recipient|receiver|payee|beneficiary|target|contact|friend)\b/, ['to']],
  [/\b(?:to|until|till|end)\b/, ['to', 'until', 'till']],
  [/\b(?:destination|arrival)\b/, ['to', 'in']],
  [/\b(?:sender|source|origin|from|payer|start)\b/, ['from', 'since']],
  [/\b(?:with|advisor|adviser|attendee|companion|doctor|guest)\b/, ['with']],
  [
    /\b(?:city|location|place|country|branch|restaurant|where|hotel|airport|shop|store|town|region)\b/,
    ['in', 'at', 'near'],
  ],
  [/\b(?:reason|purpose|reference)\b/, ['for', 'because', 'reference']],
  [/\b(?:message|note|comment|text)\b/, ['saying', 'note', 'message']],
  [/\b(?:topic|subject|about)\b/, ['about', 'regarding']],
  [/\b(?:name|handle|title|nickname)\b/, ['called', 'named']],
];

const past =
  /\b(?:statements?|transactions?|history|movements?|spen[dt]|spending|expenses?|past|previous|birth|birthday|dob|born|happened|incident|accident|damage|purchased?|bought|paid|reports?|activity|log|since)\b/;

/** Words too general to name a slot that has a better one. */
const generalWords = new Set(
  'name number type id value of the to from is for user new my'
    .split(' ')
    .map((word) => english.stem(word)),
);

/** Computed once per question. */
export const profileOf = oncePer(readProfile);

function readProfile(question: FlowQuestion): SlotProfile {
  const { slot, step, flow } = question;
  const name = fold(wordsOf(slot.name));
  const description = fold(step.description ?? '');
  const pattern = slot.type === 'text' ? patternOf(question) : undefined;
  const words = name.split(' ').map((word) => english.stem(word));
  const unit = unitIn(name) ?? unitIn(description);
  const own = words.filter((word) => !generalWords.has(word));
  const byName = announced.filter(([rule]) => rule.test(name));
  const byDescription =
    byName.length > 0 ? [] : announced.filter(([rule]) => rule.test(description));
  return {
    ...question,
    form: kindOf(question, name, description),
    prefers: past.test(
      `${name} ${description} ${fold(wordsOf(flow.id))} ${fold(flow.name)} ${fold(flow.description)}`,
    )
      ? 'past'
      : 'future',
    ...(/\b(?:start|from|begin|first|since)\b/.test(name) && { edge: 'start' as const }),
    ...(/\b(?:end|to|until|till|last)\b/.test(name) && { edge: 'end' as const }),
    ...(unit !== undefined && { unit }),
    isPeople:
      /\b(?:guests?|people|persons?|party|adults?|travell?ers?|passengers?|participants?|attendees|seats?|visitors?|diners?)\b/.test(
        `${name} ${description}`,
      ),
    kind: pattern === undefined ? kindOf(question, name, description) : 'pattern',
    prepositions: [...byName, ...byDescription].flatMap(([, prepositions]) => prepositions),
    ...(pattern !== undefined && { pattern }),
    names: new Set(own.length > 0 ? own : words),
    described: new Set(
      messageOf(description).tokens.flatMap((token) => (token.isContent ? [token.stem] : [])),
    ),
    isMoney:
      /\b(?:amount|price|sum|cost|fee|budget|money|deposit|payment|salary|income|balance|total)\b/.test(
        `${name} ${description}`,
      ),
  };
}

function kindOf({ slot }: FlowQuestion, name: string, description: string): SlotKind {
  if (slot.type === 'float') return 'number';
  if (slot.type === 'bool') return 'yes-no';
  if (slot.type === 'categorical') return 'category';
  const byName = kinds.find(([, rule]) => rule.test(name))?.[0];
  if (byName !== undefined) return byName;
  // In a description, only words about the format count: "the day" can occur in any sentence.
  const byDescription = kinds
    .filter(([kind]) => kind !== 'free')
    .find(([kind, rule]) => (kind === 'date' ? /\bdate\b/ : rule).test(description));
  return byDescription?.[0] ?? 'name';
}

/**
 * The project's regular expression for the value: in a rejection of all other values (`not slots.x
 * matches "..."`), or in the description as `pattern: /.../`. Validation reports patterns that the engine
 * can't compile; they are ignored here.
 */
function patternOf({ slot, step }: FlowQuestion): PatternInText | undefined {
  const rejections = [...(slot.validation?.rejections ?? []), ...step.rejections];
  const written = [
    ...rejections.map(({ if: condition }) => requiredPattern(condition, slot.name)),
    describedPattern(step.description ?? ''),
  ];
  for (const one of written) {
    if (one === undefined) continue;
    try {
      return compilePatternInText(one.source, one.flags);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
  }
  return undefined;
}
