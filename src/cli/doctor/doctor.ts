import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { checkActions, type LoadedProject, loadProject } from '../../assistant/index.ts';
import { formatProblem } from '../../config/index.ts';
import type { StoreOptions } from '../../store/index.ts';
import { readEndpoints, configuredStore } from '../endpoints.ts';
import { plain } from '../client/text.ts';
import type { DoctorCommandOptions } from '../commands/assistants.ts';
import { placesOf } from '../places.ts';
import { Progress } from '../progress.ts';
import { type Diagnosis, failed, passed, skipped, warning, wordsOf } from './diagnosis.ts';
import { examineClock, examineNode, examinePort } from './examine-machine.ts';
import { examineModels } from './examine-models.ts';
import { examineBroker, examineStore } from './examine-places.ts';

/** Checks everything that a server needs, and prints how to fix problems. */
export async function doctor(directory: string, options: DoctorCommandOptions): Promise<void> {
  const all: Diagnosis[] = [];
  using progress = new Progress('Looking');
  const tell = (diagnosis: Diagnosis): void => {
    all.push(diagnosis);
    progress.clear();
    if (options.json !== true) console.log(lineOf(diagnosis));
  };
  const places = placesOf(directory, options);
  tell(examineNode());
  const project = await loaded(directory, places);
  for (const diagnosis of configuration(project)) tell(diagnosis);
  tell(await store(directory, options));
  tell(await examineBroker(directory, options.endpoints));
  const groups = project?.project.endpoints.modelGroups ?? new Map();
  const models = await examineModels(groups, process.env);
  for (const { diagnosis } of models) tell(diagnosis);
  for (const diagnosis of await examinePort(options.port)) tell(diagnosis);
  const seen = models.flatMap(({ server, skewMs }) =>
    server === undefined || skewMs === undefined ? [] : [{ server, skewMs }],
  );
  tell(examineClock(directory, seen, Date.now()));
  progress.clear();
  if (options.json === true) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
  else console.error(summaryOf(all));
  if (all.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
}

async function loaded(
  directory: string,
  places: Parameters<typeof loadProject>[0],
): Promise<LoadedProject | undefined> {
  const marks = ['config.yml', 'domain.yml', 'domain'];
  const isProject = marks.some((mark) => existsSync(join(directory, mark)));
  if (!isProject) return undefined;
  const project = await loadProject(places, process.env);
  checkActions(project);
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

async function store(directory: string, { endpoints }: DoctorCommandOptions): Promise<Diagnosis> {
  let options: StoreOptions;
  try {
    const place = await readEndpoints(directory, endpoints === undefined ? {} : { endpoints });
    options = configuredStore(place, undefined);
  } catch (error) {
    return failed('Store', wordsOf(error), 'fix store in endpoints.yml');
  }
  return examineStore(options);
}

const marks = {
  passed: ['passed', 'green'],
  failed: ['failed', 'red'],
  warning: ['warning', 'yellow'],
  skipped: ['skipped', 'gray'],
} as const;

function lineOf({ what, outcome, found, fix }: Diagnosis): string {
  const [word, colour] = marks[outcome];
  const mark = styleText(colour, word.padEnd(7), { stream: process.stdout });
  const remedy = fix === undefined ? '' : `\n         fix: ${plain(fix)}`;
  return `${mark}  ${plain(`${what}: ${found}`)}${remedy}`;
}

function summaryOf(all: readonly Diagnosis[]): string {
  const count = (outcome: Diagnosis['outcome']): number =>
    all.filter((one) => one.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${count('warning')} warnings`;
}
