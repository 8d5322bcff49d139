import {
  type AgentCard,
  cardProblems,
  isJsonObject,
  readAgentCard,
} from '../../../src/protocol/index.ts';
import { problemsOf } from '../wire/validate-frame.ts';

export interface CardFinding {
  readonly level: 'error' | 'warning';
  readonly text: string;
}

export interface CheckedCard {
  /** As far as it can be read at all. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly CardFinding[];
}

/** Looks at a card as it was received: what the specification demands, and what is wise besides. */
export function checkCard(json: unknown): CheckedCard {
  const findings: CardFinding[] = cardProblems(json).map(({ level, path, problem, fix }) => ({
    level,
    text: `${path || 'the card'} ${problem}: ${fix}`,
  }));
  if (isJsonObject(json) && json['signatures'] === undefined) {
    findings.push({ level: 'warning', text: 'signatures is missing: sign the card' });
  }
  try {
    return { card: readAgentCard(json), findings };
  } catch (error) {
    // What cannot be read and breaks none of the rules above.
    const isExplained = findings.some(({ level }) => level === 'error');
    const unread = isExplained ? [] : problemsOf(error);
    const all = [...findings, ...unread.map((text) => ({ level: 'error' as const, text }))];
    return { card: undefined, findings: all };
  }
}
