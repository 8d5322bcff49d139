import { checkProject, type LoadedProject, loadProject } from '../assistant/index.ts';
import { formatProblem, type Problems } from '../config/index.ts';
import type { ValidateCommandOptions } from './commands/assistants.ts';
import type { ProjectFileOptions } from './commands/options.ts';
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
  const isFine = isAcceptable(problems, options.failOnWarnings);
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  const flows = [...project.flows.values()].filter((flow) => !flow.isPattern).length;
  console.error(
    isFine
      ? `${count(flows, 'flow')}: no errors, ${count(warnings.length, 'warning')}`
      : `${count(errors.length, 'error')}, ${count(warnings.length, 'warning')}`,
  );
  if (!isFine) process.exitCode = 1;
}

/** A project with all its problems. */
export async function loadChecked(
  directory: string,
  options: ProjectFileOptions,
): Promise<LoadedProject> {
  using _progress = new Progress('Loading the project');
  const loaded = await loadProject(existingProjectPaths(directory, options), process.env);
  await checkProject(loaded, process.env);
  return loaded;
}

/** Whether a project may run; in strict mode, warnings count as errors. */
export function isAcceptable(problems: Problems, failOnWarnings = false): boolean {
  return problems.errors.length === 0 && !(failOnWarnings && problems.warnings.length > 0);
}
