import type { Domain, Flow } from '../../model.ts';
import { flowIndexOf } from '../flow-index.ts';
import { readMessage } from '../words/words.ts';
import { findRequests } from './requests.ts';

/**
 * How well the examples of a project distinguish its flows.
 * @example const isClear = ({ right, tried }: MatchingReport) => right === tried;
 */
export interface MatchingReport {
  /** Ids of flows without examples: only their name and description can match. */
  readonly withoutExamples: readonly string[];
  /** Flows that an example can't distinguish, with one such example. */
  readonly competing: readonly { readonly flows: readonly string[]; readonly example: string }[];
  /** Examples that start another flow, or none, if they are removed from the index. */
  readonly confused: readonly {
    readonly flow: string;
    readonly example: string;
    /** The flow that would start instead; undefined for none. */
    readonly started: string | undefined;
  }[];
  /**
   * For each flow, the outcomes of its examples and their counts: a flow's id, `asks which` or `nothing`.
   */
  readonly confusions: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** Number of examples, and of those that started their flow. */
  readonly tried: number;
  readonly right: number;
}

const asksWhich = 'asks which';
const nothing = 'nothing';

/**
 * Cross-validates the examples: removes each one from the index and checks whether it still
 * starts its flow.
 * @example const { confused } = matchingReport(project.flows, project.domain);
 */
export function matchingReport(flows: ReadonlyMap<string, Flow>, domain: Domain): MatchingReport {
  const index = flowIndexOf(flows, domain);
  const own = [...flows.values()].filter(
    (flow) => !flow.isPattern && flow.if?.trim().toLowerCase() !== 'false',
  );
  const competing = new Map<
    string,
    { readonly flows: readonly string[]; readonly example: string }
  >();
  const confused: MatchingReport['confused'][number][] = [];
  const confusions = new Map<string, Map<string, number>>();
  let tried = 0;
  let right = 0;
  for (const flow of own) {
    const outcomes = new Map<string, number>();
    if (flow.examples.length > 0) confusions.set(flow.id, outcomes);
    const count = (outcome: string): void =>
      void outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (const example of flow.examples) {
      tried += 1;
      const found = findRequests(readMessage(example), {
        index,
        isStartable: () => true,
        fillsOf: () => [],
        without: { flow, text: example },
      });
      if (found.kind === 'unclear') {
        const ids = found.flows.map(({ id }) => id);
        competing.set(ids.toSorted().join(' '), { flows: ids, example });
        count(asksWhich);
        continue;
      }
      const started = found.kind === 'start' ? found.requests[0]?.flow.id : undefined;
      count(started ?? nothing);
      if (started === flow.id) right += 1;
      else confused.push({ flow: flow.id, example, started });
    }
  }
  const unclear = [...competing.values()];
  return {
    withoutExamples: own.filter((flow) => flow.examples.length === 0).map(({ id }) => id),
    competing: unclear,
    confused,
    confusions,
    tried,
    right,
  };
}

/**
 * The report as text, with a confusion matrix at the end.
 * @example console.log(reportText(matchingReport(project.flows, project.domain)));
 */
export function reportText(report: MatchingReport): string {
  const { withoutExamples, competing, confused, tried, right } = report;
  const lines = [`${right} of ${tried} examples start their flow when they are left out.`];
  const section = (title: string, rows: readonly string[]): void => {
    if (rows.length > 0) lines.push('', title, ...rows.map((row) => `  ${row}`));
  };
  section('Flows without examples:', withoutExamples);
  section(
    'Flows that compete:',
    competing.map(({ flows, example }) => `${flows.join(', ')}: "${example}"`),
  );
  const elsewhere = confused.filter((one) => one.started !== undefined);
  section(
    'Examples that start another flow:',
    elsewhere.map(({ flow, example, started }) => `${flow} -> ${started}: "${example}"`),
  );
  section(
    'Examples that no other phrase of the flow supports:',
    confused
      .filter((one) => one.started === undefined)
      .map(({ flow, example }) => `${flow}: "${example}"`),
  );
  section(
    'What examples led to when they were left out (a row for their flow; columns by the numbers of the rows):',
    tableOf(report.confusions),
  );
  return lines.join('\n');
}

function tableOf(confusions: MatchingReport['confusions']): string[] {
  const ids = [...confusions.keys()];
  const width = Math.max(0, ...ids.map((id) => id.length)) + 4;
  const line = (title: string, cells: readonly (string | number)[]): string =>
    `${title.padEnd(width)}${cells.map((cell) => String(cell).padStart(4)).join('')}`.trimEnd();
  const head = line('', [...ids.map((_, index) => index + 1), ' asks', ' none']);
  const rows = ids.map((id, index) =>
    line(`${String(index + 1).padStart(2)} ${id}`, [
      ...ids.map((other) => confusions.get(id)?.get(other) ?? '.'),
      ` ${String(confusions.get(id)?.get(asksWhich) ?? '.').padStart(4)}`,
      ` ${String(confusions.get(id)?.get(nothing) ?? '.').padStart(4)}`,
    ]),
  );
  return ids.length === 0 ? [] : [head, ...rows];
}
