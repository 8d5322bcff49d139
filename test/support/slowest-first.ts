import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest, longest first. */
const slowest = [
  'test/newcomer/newcomer.test.ts',
  'test/simulation/simulation.test.ts',
  'src/cli/dead-ends.test.ts',
  'src/cli/client/send.test.ts',
  'src/bus/transport/rabbitmq/rabbit-broker.test.ts',
  'src/cli/cli.test.ts',
  'src/cli/completion.test.ts',
];

/**
 * Starts the slowest files first, so that a run does not end with one of them alone. Vitest knows durations
 * of earlier runs only, which a fresh checkout doesn't have: there it starts the largest files first.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((one, two) => groupOf(one) - groupOf(two) || rankOf(one) - rankOf(two));
  }
}

function groupOf({ project }: TestSpecification): number {
  return project.config.sequence.groupOrder;
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = slowest.findIndex((file) => moduleId.endsWith(`/${file}`));
  return rank < 0 ? slowest.length : rank;
}
