import type { JsonObject, Part } from '../../protocol/index.ts';
import type { TurnEnd } from '../agent.ts';
import { type Ask, type Asking, type CallState, isAsking } from '../tool-loop/call-state.ts';

/**
 * The calls whose questions are put to the caller now: all that the agent itself asks, or else the
 * first that a tool asks, for a tool's question may look like anything.
 */
export function presented(calls: readonly CallState[]): readonly Asking[] {
  const asking = calls.filter(isAsking);
  const own = asking.filter(({ ask }) => ask.request !== 'answer');
  return own.length > 0 ? own : asking.slice(0, 1);
}

/** The end of a turn that waits for its caller: one data part for each question, then words. */
export function askingEnd(calls: readonly CallState[], note?: string): TurnEnd {
  const asking = presented(calls);
  const needsConsent = asking.every(({ ask }) =>
    ask.request === 'answer' ? ask.isAuthorization : ask.request === 'credential',
  );
  const words = [...(note === undefined ? [] : [note]), ...asking.flatMap(wordsOf)];
  const parts = asking.flatMap((call): readonly Part[] =>
    call.ask.request === 'answer' ? call.ask.question : [{ data: describe(call, call.ask) }],
  );
  return {
    kind: needsConsent ? 'auth-required' : 'input-required',
    parts: [...parts, ...(words.length > 0 ? [{ text: words.join('\n') }] : [])],
  };
}

function describe(call: CallState, ask: Exclude<Ask, { request: 'answer' }>): JsonObject {
  return { ...ask, callId: call.id, tool: call.name, arguments: call.input };
}

function wordsOf({ name, ask }: Asking): readonly string[] {
  switch (ask.request) {
    case 'confirmation':
      return [ask.hint ?? `May I run ${name}? (yes or no)`];
    case 'credential': {
      const where = ask.authorizationUrl === undefined ? '' : ` at ${ask.authorizationUrl}`;
      return [ask.hint ?? `${name} needs your consent for ${ask.scheme}${where}.`];
    }
    case 'result':
      return [`${name} has started; please send its result when there is one.`];
    case 'answer':
      return [];
  }
}
