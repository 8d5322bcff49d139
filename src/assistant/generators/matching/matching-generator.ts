import { LegateError } from '../../../protocol/index.ts';
import type { CommandGenerator } from '../../commands/index.ts';
import { decide } from './decide.ts';
import { type MatchingOptions, Turn } from './turn.ts';

/**
 * The generator that needs no model: it reads messages by words, forms and fixed English phrases.
 * The same message in the same conversation always gives the same commands.
 *
 * What it can do: start flows by BM25 over their names, descriptions and `examples`; ask which of up
 * to three flows is meant; start several flows from one sentence; fill the asked slot and others of
 * the same sentence; cancel, correct, repeat, skip, restart, hand over, chat, and hand questions to
 * the knowledge base or messages to the agent that waits.
 *
 * What it cannot: languages other than English beyond numbers and names, pronouns ("send him 5"),
 * sarcasm, wishes that share no word with a flow, negations inside longer sentences. Such messages
 * end in `cannot handle`. docs/guides/matching-generator.md tells how to write flows for it.
 * @example const generator = matchingGenerator({ timeZone: 'Europe/Berlin' })
 */
export function matchingGenerator(options: MatchingOptions = {}): CommandGenerator {
  checkTimeZone(options.timeZone);
  return {
    name: 'matching',
    async generate(input) {
      return decide(new Turn(input, options));
    },
  };
}

function checkTimeZone(timeZone: string | undefined): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions();
  } catch (cause) {
    throw new LegateError(
      'CONFIGURATION_INVALID',
      `timezone "${timeZone}" is unknown; use an IANA name such as Europe/Berlin`,
      { cause },
    );
  }
}
