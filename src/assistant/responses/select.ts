import type { ResponseVariation } from '../model.ts';

export interface Selection {
  readonly channel: string;
  /** Whether a condition of a variation holds. */
  holds(condition: string): boolean;
  /** At least 0 and less than 1. */
  random(): number;
}

/**
 * The variation to say: those for the channel go before those for any channel, and among them
 * those whose condition holds go before those without one. Equals take turns by chance.
 */
export function selectVariation(
  variations: readonly ResponseVariation[],
  selection: Selection,
): ResponseVariation | undefined {
  const onChannel = variations.filter((one) => one.channel === selection.channel);
  const anywhere = variations.filter((one) => one.channel === undefined);
  for (const group of [onChannel, anywhere]) {
    const conditional = group.filter(
      (one) => one.condition !== undefined && selection.holds(one.condition),
    );
    const equals = conditional.length > 0 ? conditional : group.filter(isUnconditional);
    const chosen = equals[Math.floor(selection.random() * equals.length)];
    if (chosen !== undefined) return chosen;
  }
  return undefined;
}

function isUnconditional(variation: ResponseVariation): boolean {
  return variation.condition === undefined;
}
