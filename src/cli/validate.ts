import { checkProject, type LoadedProject, loadProject, type Project } from '../assistant/index.ts';
import { formatProblem, type Problems } from '../config/index.ts';
import type { ValidateCommandOptions } from './commands/assistants.ts';
import type { ProjectFileOptions } from './commands/options.ts';
import { counted } from './counted.ts';
import { existingProjectPaths } from './project-files.ts';
import { Progress } from './progress.ts';

/** Prints all problems of a project. */
export async function validateProject(
  directory: string,
  options: ValidateCommandOptions,
): Promise<void> {
  const { project, problems } = await loadChecked(directory, options);
  const { all, errors, warnings } = problems;
  if (options.json === true) console.log(JSON.stringify(all, undefined, 2));
  else for (const problem of all) console.log(formatProblem(problem));
  const isLive = options.live !== true || (await examine(project, options));
  const isFine = isAcceptable(problems, options.failOnWarnings) && isLive;
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern).length;
  console.error(
    isFine
      ? `${counted(flows, 'flow')}: no errors, ${counted(warnings.length, 'warning')}`
      : `${counted(errors.length, 'error')}, ${counted(warnings.length, 'warning')}${isLive ? '' : ', and services that cannot be used'}`,
  );
  if (!isFine) process.exitCode = 1;
}

/** Checks the services of the project and prints the results; false if a check failed. */
async function examine(
  project: Project,
  { json = false }: ValidateCommandOptions,
): Promise<boolean> {
  const { examineProject } = await import('./doctor/examine-project.ts');
  const { lineOf } = await import('./doctor/doctor.ts');
  let isFine = true;
  for await (const { diagnosis } of examineProject(project)) {
    if (diagnosis.outcome === 'failed') isFine = false;
    if (!json) console.log(lineOf(diagnosis));
    else if (diagnosis.outcome !== 'passed') console.error(lineOf(diagnosis));
  }
  return isFine;
}

/** Loads a project with all its problems. */
export async function loadChecked(
  directory: string,
  options: ProjectFileOptions,
): Promise<LoadedProject> {
  using _progress = new Progress('Loading the project');
  const loaded = await loadProject(existingProjectPaths(directory, options), process.env);
  await checkProject(loaded, process.env);
  return loaded;
}

/** Whether a project has no errors; with `failOnWarnings`, warnings count as errors. */
export function isAcceptable(problems: Problems, failOnWarnings = false): boolean {
  return problems.errors.length === 0 && !(failOnWarnings && problems.warnings.length > 0);
}
