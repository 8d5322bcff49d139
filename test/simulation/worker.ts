import { parentPort, workerData } from 'node:worker_threads';
import { drawPlan, type PlanOptions } from './plan.ts';
import { simulate } from './simulate.ts';
import { tellFailure } from './tell.ts';

/** What became of one world. */
export interface WorldReport {
  readonly seed: string;
  readonly turns: number;
  readonly webhookCalls: number;
  readonly busAnswers: number;
  /** Undefined when no rule was broken. */
  readonly failure: string | undefined;
}

/** Lives through one world after the other, and tells of each. */
for (const options of workerData as readonly PlanOptions[]) {
  const plan = drawPlan(options);
  const result = await simulate(plan);
  const { turns, webhookCalls, busAnswers, violation } = result;
  const failure = violation === undefined ? undefined : await tellFailure(plan, result);
  const report: WorldReport = { seed: plan.seed, turns, webhookCalls, busAnswers, failure };
  parentPort?.postMessage(report);
}
