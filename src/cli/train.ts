import { join } from 'node:path';
import { matchingReport, packProject, reportText } from '../assistant/index.ts';
import { formatProblem } from '../config/index.ts';
import type { TrainCommandOptions } from './commands/assistants.ts';
import { printReport } from './print.ts';
import { isAcceptable, loadChecked } from './validate.ts';

/** Validates a project and packs it; prints the path of the package. */
export async function train(directory: string, options: TrainCommandOptions): Promise<void> {
  const loaded = await loadChecked(directory, options);
  const { all: problems } = loaded.problems;
  const print = (result: object, text: string): void => printReport(result, text, options);
  if (options.json !== true) for (const problem of problems) console.error(formatProblem(problem));
  if (!isAcceptable(loaded.problems, options.failOnValidationWarnings)) {
    if (options.json === true) print({ problems }, '');
    console.error('legate: the project has errors; nothing was packed');
    process.exitCode = 1;
    return;
  }
  if (options.report === true) {
    const { flows, domain } = loaded.project;
    const report = matchingReport(flows, domain);
    const confusions = Object.fromEntries(
      Array.from(report.confusions, ([flow, counts]) => [flow, Object.fromEntries(counts)]),
    );
    return print({ ...report, confusions }, reportText(report));
  }
  const file = await packProject(loaded, {
    directory: options.out ?? join(directory, 'models'),
    ...(options.fixedModelName !== undefined && { fixedName: options.fixedModelName }),
  });
  print({ file, problems }, file);
}
