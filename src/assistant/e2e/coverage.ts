import type { Flow } from '../model.ts';

/**
 * Which steps of a flow were taken.
 * @example
 * const gaps = ({ file, missing }: FlowCoverage) => missing.map(({ line }) => `${file}:${line}`);
 */
export interface FlowCoverage {
  readonly flow: string;
  readonly file: string;
  readonly steps: number;
  readonly reached: number;
  /** Steps that no test reached, with the line of each. */
  readonly missing: readonly { readonly step: string; readonly line: number }[];
}

/** Notes which steps of a project's own flows were taken. */
export class Coverage {
  readonly #flows: ReadonlyMap<string, Flow>;
  readonly #taken = new Map<string, Set<string>>();

  constructor(flows: ReadonlyMap<string, Flow>) {
    this.#flows = flows;
  }

  note(flowId: string, stepId: string): void {
    const taken = this.#taken.get(flowId) ?? new Set();
    this.#taken.set(flowId, taken.add(stepId));
  }

  get flows(): readonly FlowCoverage[] {
    return [...this.#flows.values()]
      .filter((flow) => !flow.isPattern)
      .map((flow) => {
        const steps = [...flow.steps.values()];
        const missing = steps.filter((step) => this.#taken.get(flow.id)?.has(step.id) !== true);
        return {
          flow: flow.id,
          file: flow.position.file,
          steps: steps.length,
          reached: steps.length - missing.length,
          missing: missing.map(({ id, position }) => ({ step: id, line: position.line })),
        };
      });
  }
}

function percent({ reached, steps }: { readonly reached: number; readonly steps: number }): string {
  return steps === 0 ? '100.0' : ((100 * reached) / steps).toFixed(1);
}

/**
 * A table for people, the least covered flows first.
 * @example
 * const { coverage } = await runTests(project, cases);
 * console.log(coverageTable(coverage));
 */
export function coverageTable(flows: readonly FlowCoverage[]): string {
  const share = (flow: FlowCoverage) => (flow.steps === 0 ? 1 : flow.reached / flow.steps);
  const width = Math.max(4, ...flows.map(({ flow }) => flow.length));
  const rows = [...flows]
    .sort((left, right) => share(left) - share(right) || (left.flow < right.flow ? -1 : 1))
    .map((flow) => {
      const missing = flow.missing.map(({ step, line }) => `${step}:${line}`).join(' ');
      const count = `${flow.reached}/${flow.steps}`.padStart(7);
      return `${flow.flow.padEnd(width)} ${count} ${percent(flow).padStart(6)} %  ${missing}`.trimEnd();
    });
  const total = {
    reached: flows.reduce((sum, { reached }) => sum + reached, 0),
    steps: flows.reduce((sum, { steps }) => sum + steps, 0),
  };
  const sum = `${total.reached}/${total.steps}`.padStart(7);
  return [...rows, `${'all'.padEnd(width)} ${sum} ${percent(total).padStart(6)} %`].join('\n');
}

/**
 * Coverage as a table, one flow a line.
 * @example
 * const { coverage } = await runTests(project, cases);
 * await writeFile('coverage.csv', coverageCsv(coverage));
 */
export function coverageCsv(flows: readonly FlowCoverage[]): string {
  const rows = flows.map((flow) => [
    flow.flow,
    flow.file,
    String(flow.steps),
    String(flow.reached),
    percent(flow),
    flow.missing.map(({ step }) => step).join(' '),
    flow.missing.map(({ line }) => line).join(' '),
  ]);
  const head = ['flow', 'file', 'steps', 'reached', 'percent', 'missing_steps', 'missing_lines'];
  return `${[head, ...rows].map((row) => row.map(cell).join(',')).join('\n')}\n`;
}

/** A cell that a spreadsheet shows as it is, and never runs. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
