import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { checkProject, type LoadedProject, loadProject } from '../../assistant/index.ts';
import { formatProblem } from '../../config/index.ts';
import { plain } from '../client/text.ts';
import type { DoctorCommandOptions } from '../commands/assistants.ts';
import { projectPaths } from '../project-files.ts';
import { Progress } from '../progress.ts';
import { type Diagnosis, failed, passed, skipped, warning } from './diagnosis.ts';
import { examineClock, examineNode, examinePort } from './examine-machine.ts';
import { examineProject } from './examine-project.ts';
import { examineBroker, examineConfiguredStore, examineModels } from './examine-services.ts';

/** Checks everything that a server needs, and prints how to fix problems. */
export async function doctor(directory: string, options: DoctorCommandOptions): Promise<void> {
  const all: Diagnosis[] = [];
  using progress = new Progress('Looking');
  const add = (diagnosis: Diagnosis): void => {
    all.push(diagnosis);
    progress.clear();
    if (options.json !== true) console.log(lineOf(diagnosis));
  };
  const project = await loadedProject(directory, options);
  add(examineNode());
  for (const diagnosis of configuration(project)) add(diagnosis);
  add(await examineConfiguredStore(directory, options.endpoints));
  add(await examineBroker(directory, options.endpoints));
  const services =
    project === undefined
      ? examineModels(new Map(), process.env)
      : Array.fromAsync(examineProject(project.project));
  const models = await services;
  for (const { diagnosis } of models) add(diagnosis);
  for (const diagnosis of await examinePort(options.port)) add(diagnosis);
  const seen = models.flatMap(({ server, skewMs }) =>
    server === undefined || skewMs === undefined ? [] : [{ server, skewMs }],
  );
  add(examineClock(directory, seen, Date.now()));
  progress.clear();
  if (options.json === true) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
  else console.error(summaryOf(all));
  if (all.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
}

async function loadedProject(
  directory: string,
  options: DoctorCommandOptions,
): Promise<LoadedProject | undefined> {
  const paths = projectPaths(directory, options);
  const files = ['config.yml', 'domain.yml', 'domain'];
  if (!files.some((file) => existsSync(join(directory, file)))) return undefined;
  const project = await loadProject(paths, process.env);
  await checkProject(project, process.env);
  return project;
}

function* configuration(found: LoadedProject | undefined): Generator<Diagnosis> {
  if (found === undefined) {
    yield skipped(
      'Configuration',
      'this folder is not an assistant project; create one with "legate init"',
    );
    return;
  }
  const { errors, warnings } = found.problems;
  for (const problem of errors) {
    yield failed('Configuration', formatProblem(problem), 'list all problems: legate validate');
  }
  for (const problem of warnings) {
    yield warning('Configuration', formatProblem(problem), 'list all problems: legate validate');
  }
  if (errors.length === 0) {
    const flows = [...found.project.flows.values()].filter((flow) => !flow.isPattern).length;
    yield passed('Configuration', `${flows} ${flows === 1 ? 'flow' : 'flows'}, no errors`);
  }
}

const colours = { passed: 'green', failed: 'red', warning: 'yellow', skipped: 'gray' } as const;

/** A line for people. */
export function lineOf({ what, outcome, found, fix }: Diagnosis): string {
  const mark = styleText(colours[outcome], outcome.padEnd(7), { stream: process.stdout });
  const remedy = fix === undefined ? '' : `\n         fix: ${plain(fix)}`;
  return `${mark}  ${plain(`${what}: ${found}`)}${remedy}`;
}

function summaryOf(all: readonly Diagnosis[]): string {
  const count = (outcome: Diagnosis['outcome']): number =>
    all.filter((one) => one.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('warning')} warnings`;
}
