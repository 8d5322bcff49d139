import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { styleText } from 'node:util';
import { checkProject, type LoadedProject, loadProject } from '../../assistant/index.ts';
import { formatProblem, present } from '../../config/index.ts';
import { silentLogger } from '../../telemetry/index.ts';
import { plain } from '../client/text.ts';
import type { DoctorCommandOptions } from '../commands/assistants.ts';
import { counted } from '../counted.ts';
import { configuredStore, examineEndpoints } from '../endpoints.ts';
import { modelGroupsIn } from '../endpoints-file.ts';
import { loadAgent } from '../load-agent.ts';
import { projectPaths } from '../project-files.ts';
import { Progress } from '../progress.ts';
import { type Diagnosis, failed, passed, reasonOf, skipped, warning } from './diagnosis.ts';
import {
  clientTlsOf,
  examineAuthorities,
  examineCertificate,
  examineClientTls,
} from './examine-certificates.ts';
import { examineBusKeys, examineKeys } from './examine-keys.ts';
import { examineClock, examineNode, examinePort } from './examine-machine.ts';
import { examinePeers } from './examine-peers.ts';
import { examineProject } from './examine-project.ts';
import { examineBroker, examineModels, examineOtlp, examineStore } from './examine-services.ts';

/** Checks the environment of a server and prints how to fix problems. */
export async function doctor(source: string, options: DoctorCommandOptions): Promise<void> {
  const isModule =
    statSync(source.split('#')[0] ?? '', { throwIfNoEntry: false })?.isFile() === true;
  const directory = isModule ? dirname(source) : source;
  const all: Diagnosis[] = [];
  using _progress = new Progress('Checking the environment');
  const add = (diagnosis: Diagnosis): void => {
    all.push(diagnosis);
    if (options.json !== true) console.log(lineOf(diagnosis));
  };
  const project = isModule ? undefined : await loadedProject(directory, options);
  const module = isModule ? source : join(directory, 'agent.ts');
  add(examineNode());
  const names = project === undefined ? [] : namesOf(project);
  if (project === undefined && (isModule || existsSync(module))) {
    add(await examineAgent(module, names));
  } else for (const diagnosis of configuration(project)) add(diagnosis);
  const endpoints = await examinedEndpoints(directory, {
    ...options,
    isModule: project === undefined,
  });
  const isProject = project !== undefined;
  const { sslCaFile } = options;
  for await (const one of sectionChecks(endpoints, { directory, isProject, sslCaFile })) add(one);
  const { sslCertificate: certificate, sslKeyfile: key } = options;
  add(examineCertificate(present({ certificate, key }), Date.now()));
  if (sslCaFile !== undefined) add(examineAuthorities(sslCaFile, Date.now()));
  const groups = project?.project.endpoints.modelGroups ?? (await modelGroupsIn(endpoints.file));
  for (const one of clientTlsOf(endpoints, groups, project?.project)) {
    add(examineClientTls(one, directory, Date.now()));
  }
  const environment = process.env;
  const services =
    project === undefined
      ? examineModels(groups, { environment, directory })
      : Array.fromAsync(examineProject(project.project));
  const models = await services;
  for (const { diagnosis } of models) add(diagnosis);
  for await (const diagnosis of examinePeers(endpoints, directory)) add(diagnosis);
  for (const diagnosis of await examinePort(options.port, names)) add(diagnosis);
  const seen = models.flatMap(({ server, skewMs }) =>
    server === undefined || skewMs === undefined ? [] : [{ server, skewMs }],
  );
  add(examineClock(directory, seen, Date.now()));
  if (options.json === true) process.stdout.write(`${JSON.stringify(all, undefined, 2)}\n`);
  else console.error(summaryOf(all));
  if (all.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
}

/** The possible names in the card of an assistant; empty for any name, if its card is a file. */
function namesOf({ project }: LoadedProject): string[] {
  if (project.endpoints.a2aServer?.agentCardPath !== undefined) return [];
  return [project.name, ...Object.values(present({ id: project.config.assistantId }))];
}

/** Imports the module of an agent in code, and adds the agent's name. */
async function examineAgent(file: string, names: string[]): Promise<Diagnosis> {
  try {
    const { agent } = await loadAgent(file, { logger: silentLogger });
    names.push(agent.name);
    return passed('Agent', `${file} exports ${agent.name}`);
  } catch (error) {
    return failed('Agent', reasonOf(error), `fix ${file}: it must export an agent`);
  }
}

/** Checks the sections of endpoints.yml separately: an error in one section does not skip the others. */
async function* sectionChecks(
  endpoints: Examined,
  options: {
    readonly directory: string;
    readonly isProject: boolean;
    readonly sslCaFile: string | undefined;
  },
): AsyncGenerator<Diagnosis> {
  const { directory, isProject, sslCaFile } = options;
  yield* otherErrors(endpoints, isProject);
  yield (
    sectionError('Store', /^store\b/, endpoints) ?? (await examineStore(configuredStore(endpoints)))
  );
  const busError = sectionError('Broker', /^bus\b/, endpoints);
  yield busError ?? (await examineBroker(endpoints));
  if (busError === undefined) yield* examineBusKeys(endpoints);
  yield (
    sectionError('OTLP endpoint', /^telemetry\b/, endpoints) ??
      (await examineOtlp(endpoints.telemetry?.otlp))
  );
  const keyError = sectionError('Keys of callers', /^(?:a2a_server|push)\b/, endpoints);
  if (keyError !== undefined) yield keyError;
  else yield* examineKeys(endpoints, { directory, hasClientCertificates: sslCaFile !== undefined });
}

type Examined = Awaited<ReturnType<typeof examineEndpoints>>;

/** The readable sections of endpoints.yml, with the errors. */
async function examinedEndpoints(
  directory: string,
  { endpoints, isModule }: DoctorCommandOptions & { readonly isModule: boolean },
): Promise<Examined> {
  return examineEndpoints(directory, { ...present({ endpoints }), serves: isModule });
}

const sections = /^(?:store|bus|telemetry|a2a_server|push)\b/;

/** The errors in the section of a check, such as a variable that is not set. */
function sectionError(what: string, path: RegExp, { errors }: Examined): Diagnosis | undefined {
  const own = errors.filter((error) => path.test(error.path));
  if (own.length === 0) return undefined;
  const found = own.map(formatProblem).join('\n');
  return failed(what, found, 'fix it in endpoints.yml, or set the variable that it names');
}

/** Errors outside the checked sections. The check of a project reports its own errors. */
function otherErrors({ errors }: Examined, isProject: boolean): readonly Diagnosis[] {
  if (isProject) return [];
  return errors
    .filter(({ path }) => !sections.test(path))
    .map((error) => failed('Configuration', formatProblem(error), 'fix it in endpoints.yml'));
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
    yield passed('Configuration', `${counted(flows, 'flow')}, no errors`);
  }
}

const colours = { passed: 'green', failed: 'red', warning: 'yellow', skipped: 'gray' } as const;

/** Formats a diagnosis as text, with the fix on a second line. */
export function lineOf({ what, outcome, found, fix }: Diagnosis): string {
  const mark = styleText(colours[outcome], outcome.padEnd(7), { stream: process.stdout });
  const remedy = fix === undefined ? '' : `\n         fix: ${plain(fix)}`;
  return `${mark}  ${plain(`${what}: ${found}`)}${remedy}`;
}

function summaryOf(all: readonly Diagnosis[]): string {
  const count = (outcome: Diagnosis['outcome']): number =>
    all.filter((one) => one.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed')} failed, ${counted(count('warning'), 'warning')}`;
}
