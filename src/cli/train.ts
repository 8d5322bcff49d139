import { join } from 'node:path';
import { matchingReport, packProject, reportText } from '../assistant/index.ts';
import { formatProblem } from '../config/index.ts';
import type { TrainCommandOptions } from './commands/assistants.ts';
import { isAcceptable, loadChecked } from './validate.ts';

/** Validates a project and packs it; prints the path of the package. */
export async function train(directory: string, options: TrainCommandOptions): Promise<void> {
  const loaded = await loadChecked(directory, options);
  for (const problem of loaded.problems.all) console.error(formatProblem(problem));
  if (!isAcceptable(loaded.problems, options.failOnValidationWarnings)) {
    console.error('legate: the project has errors; nothing was packed');
    process.exitCode = 1;
    return;
  }
  if (options.report === true) {
    const { flows, domain } = loaded.project;
    console.log(reportText(matchingReport(flows, domain)));
    return;
  }
  const file = await packProject(loaded, {
    directory: options.out ?? join(directory, 'models'),
    ...(options.fixedModelName !== undefined && { fixedName: options.fixedModelName }),
  });
  console.log(file);
}
