import type { Flow } from '../../model.ts';
import { type Message, overlaps } from '../words/words.ts';
import { isQuestion } from './phrases.ts';
import type { RequestOptions } from './requests.ts';

/** The flow for a message of values and a name only: "20 euros to Tom". */
export function byValuesAlone(message: Message, options: RequestOptions): Flow | undefined {
  const { ignored = [], index, fillsOf, isStartable } = options;
  const words = message.tokens.filter((token) => token.isContent);
  const open = words.filter((token) => !ignored.some((span) => overlaps(span, token)));
  const isPlain = ignored.length > 0 && open.length <= 1 && message.tokens.length <= mostPlainWords;
  if (!isPlain || isQuestion(message) || index.flows.length > mostFilled) return undefined;
  const filled = index.flows
    .filter(isStartable)
    .map((flow) => {
      const fills = fillsOf(flow, message);
      return { flow, fills, kinds: new Set(fills.map(({ kind }) => kind)) };
    })
    .filter(
      ({ fills, kinds }) =>
        (kinds.size > 1 && kinds.has('name')) ||
        (people.test(message.folded) && fills.some(({ isPeople }) => isPeople)),
    )
    .toSorted((one, two) => two.kinds.size - one.kinds.size);
  const [best, second] = filled;
  return best?.kinds.size === second?.kinds.size ? undefined : best?.flow;
}

/** "4 people tonight", "we are six": means the only flow that counts people. */
const people =
  /\b(?:people|persons?|ppl|pax|of us|party of|group of|adults?)\b|^(?:we are|we're|we will be|we'll be) \w+(?:[.! ]*$|,? (?:can|could|may) we come\b)/;

const mostPlainWords = 8;
/** In projects with more flows, a pair of values fits too many of them. */
const mostFilled = 60;
