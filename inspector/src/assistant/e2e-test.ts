import type { JsonValue } from '../../../src/protocol/index.ts';
import type { ConversationTurn } from './conversation-turns.ts';

/**
 * Converts a conversation to an end-to-end test: each message, and the assistant's reaction. The test
 * refers to responses by name, so that new wording does not break it.
 */
export function e2eTest(name: string, turns: readonly ConversationTurn[]): string {
  const lines = ['test_cases:', `  - test_case: ${scalar(name)}`, '    steps:'];
  for (const turn of turns) {
    if (turn.number === 0) continue;
    lines.push(`      - user: ${scalar(turn.text)}`);
    const changes = lastOfEach(turn.changes);
    if (changes.length > 0) {
      lines.push('      - slot_was_set:');
      for (const [slot, value] of changes) lines.push(`          - ${slot}: ${scalar(value)}`);
    }
    for (const { text, utter } of turn.messages) {
      if (utter !== undefined) lines.push(`      - utter: ${utter}`);
      else if (text !== '') lines.push(`      - bot: ${scalar(text)}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

/** The slot values after the turn. Values that were reset or edited are not asserted. */
function lastOfEach(
  changes: ConversationTurn['changes'],
): readonly (readonly [string, JsonValue])[] {
  const own = changes.filter(({ isEdited }) => isEdited !== true);
  const last = new Map(own.map(({ name, value }) => [name, value]));
  return [...last].filter(([name, value]) => value !== null && /^[\w-]+$/.test(name));
}

/** JSON is YAML; plain words need no quotes. */
function scalar(value: JsonValue): string {
  const isPlain =
    typeof value === 'string' &&
    /^[A-Za-z][\w ,.'()€$%-]*[\w.)]$/.test(value) &&
    !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(value);
  return isPlain ? value : JSON.stringify(value);
}
