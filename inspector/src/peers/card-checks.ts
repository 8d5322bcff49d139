import {
  type AgentCard,
  cardProblems,
  isJsonObject,
  readAgentCard,
} from '../../../src/protocol/index.ts';
import { checkedBy } from '../wire/checks.ts';

export interface CardFinding {
  readonly level: 'error' | 'warning';
  readonly text: string;
}

export interface CheckedCard {
  /** The parsed card, if it can be parsed. */
  readonly card: AgentCard | undefined;
  readonly findings: readonly CardFinding[];
}

/** Checks a raw card against the requirements and recommendations of the specification. */
export function checkCard(json: unknown): CheckedCard {
  const findings: CardFinding[] = cardProblems(json).map(({ level, path, problem, fix }) => ({
    level,
    text: `${path || 'the card'} ${problem}: ${fix}`,
  }));
  if (isJsonObject(json) && json['signatures'] === undefined) {
    findings.push({
      level: 'warning',
      text: 'the card is not signed: sign it, so that clients can detect forged cards',
    });
  }
  let card: AgentCard | undefined;
  const { problems } = checkedBy(() => {
    card = readAgentCard(json);
    return undefined;
  });
  // A card can be unreadable without violating any of the rules above.
  if (!findings.some(({ level }) => level === 'error')) {
    findings.push(...problems.map((text) => ({ level: 'error' as const, text })));
  }
  return { card, findings };
}
