import type { Agent } from '../../agents/index.ts';
import { junitFile } from '../../assistant/index.ts';
import { formatProblem } from '../../config/index.ts';
import type { EvaluateCommandOptions } from '../commands/assistants.ts';
import { loadAgent } from '../load-agent.ts';
import { createLogger } from '../logger.ts';
import { printResult, printSummary, testJson, writeReport } from '../test-results.ts';
import { usage } from '../usage.ts';
import { readCases } from './read-cases.ts';
import { type EvaluationResult, runCase } from './run-case.ts';

/** Evaluates agents by cases in YAML and prints the failed cases. */
export async function testAgents(path: string, options: EvaluateCommandOptions): Promise<void> {
  const { cases, problems } = await readCases(path);
  problems.throwIfErrors();
  for (const problem of problems.warnings) console.error(formatProblem(problem));
  const logger = createLogger(options.logLevel);
  const agents = new Map<string, Promise<Agent>>();
  const isJson = options.json === true;
  const results: EvaluationResult[] = [];
  for (const test of cases) {
    const source = options.agent ?? test.agent;
    if (source === undefined)
      throw usage(`${test.position.file}: no agent; write agent: ./agent.ts, or use --agent`);
    const loading = agents.get(source) ?? loadAgent(source, { logger }).then(({ agent }) => agent);
    agents.set(source, loading);
    const result = await runCase(await loading, test, { mode: options.model, logger });
    results.push(result);
    if (!isJson) printResult(result);
    if (result.failures.length > 0 && options.failFast === true) break;
  }
  if (isJson) console.log(JSON.stringify(results.map(jsonOf), undefined, 2));
  else printSummary(results, cases.length);
  if (options.junit !== undefined) await writeReport(options.junit, junitFile(results));
  if (results.some(({ failures }) => failures.length > 0)) process.exitCode = 1;
}

function jsonOf(result: EvaluationResult): object {
  const failures = result.failures.map(({ kind, expected, found }) => ({ kind, expected, found }));
  return { ...testJson(result), answer: result.answer, tools: result.calls, failures };
}
