import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, relative } from 'node:path';
import { styleText } from 'node:util';
import type { Agent } from '../../agents/index.ts';
import { describeFailure, failureKinds, junitFile } from '../../assistant/index.ts';
import { formatProblem } from '../../config/index.ts';
import type { EvaluateCommandOptions } from '../commands/assistants.ts';
import { loadAgent } from '../load-agent.ts';
import { createLogger } from '../logger.ts';
import { usage } from '../usage.ts';
import { readCases } from './read-cases.ts';
import { type EvaluationResult, runCase } from './run-case.ts';

/** Evaluates agents by cases in YAML, and prints the failed ones. */
export async function testAgents(path: string, options: EvaluateCommandOptions): Promise<void> {
  const { cases, problems } = await readCases(path);
  for (const problem of problems.all) console.error(formatProblem(problem));
  problems.throwIfErrors();
  const logger = createLogger(options.logLevel);
  const agents = new Map<string, Promise<Agent>>();
  const results: EvaluationResult[] = [];
  for (const test of cases) {
    const source = options.agent ?? test.agent;
    if (source === undefined)
      throw usage(`${test.position.file}: no agent; write agent: ./agent.ts, or use --agent`);
    const loading = agents.get(source) ?? loadAgent(source, { logger }).then(({ agent }) => agent);
    agents.set(source, loading);
    const result = await runCase(await loading, test, { mode: options.model, logger });
    results.push(result);
    const isGood = result.failures.length === 0;
    const mark = isGood ? styleText('green', 'pass') : styleText('red', 'FAIL');
    console.log(`${mark}  ${relative('.', test.position.file)} ${test.name}`);
    if (!isGood && options.failFast === true) break;
  }
  const failed = results.filter(({ failures }) => failures.length > 0);
  for (const result of failed) console.log(`\n${describeFailure(result)}`);
  const left = cases.length - results.length;
  console.log(
    `\n${results.length - failed.length} passed, ${failed.length} failed${left === 0 ? '' : `, ${left} not run`}`,
  );
  if (failed.length > 0) console.log(`failed by: ${failureKinds(failed)}`);
  if (options.json !== undefined) await write(options.json, jsonOf(results));
  if (options.junit !== undefined) await write(options.junit, junitFile(results));
  if (failed.length > 0) process.exitCode = 1;
}

function jsonOf(results: readonly EvaluationResult[]): string {
  const cases = results.map(({ test, failures, durationMs, calls, answer }) => ({
    file: test.position.file,
    line: test.position.line,
    name: test.name,
    passed: failures.length === 0,
    duration_ms: Math.round(durationMs),
    answer,
    tools: calls,
    failures: failures.map(({ kind, expected, found }) => ({ kind, expected, found })),
  }));
  const passed = cases.filter((each) => each.passed).length;
  return `${JSON.stringify({ passed, failed: cases.length - passed, cases }, undefined, 2)}\n`;
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  console.error(`written: ${file}`);
}
