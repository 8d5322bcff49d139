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
  /** The parsed card, if it can be parsed. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly CardFinding[];
}

/** Checks a card as received: required by the specification, and recommended. */
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
    // The card cannot be parsed although it breaks none of the rules above.
    const isExplained = findings.some(({ level }) => level === 'error');
    const unread = isExplained ? [] : problemsOf(error);
    const all = [...findings, ...unread.map((text) => ({ level: 'error' as const, text }))];
    return { card: undefined, findings: all };
  }
}
