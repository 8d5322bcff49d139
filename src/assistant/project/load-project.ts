import { type Environment, Problems } from '../../config/index.ts';
import { assemble } from './assemble.ts';
import { fingerprint } from './fingerprint.ts';
import type { Project } from './model.ts';
import { toEntries } from './package-entries.ts';
import { type ProjectPlaces, readFolder } from './project-folder.ts';
import type { TarEntry } from './tar.ts';

/**
 * A project, and what is wrong with it.
 * @example
 * const wholeOf = ({ project, problems }: LoadedProject) => {
 *   problems.throwIfErrors();
 *   return project;
 * };
 */
export interface LoadedProject {
  /** As much of it as could be understood; whole when there are no errors. */
  readonly project: Project;
  readonly problems: Problems;
  /** What `packProject` packs. */
  readonly entries: readonly TarEntry[];
}

/**
 * Reads and validates a project folder. Nothing is thrown for what is wrong in it: everything goes
 * to `problems`, of which `throwIfErrors()` makes an end.
 * @example
 * const { project, problems } = await loadProject({ directory: '.' }, process.env);
 * problems.throwIfErrors();
 */
export async function loadProject(
  places: ProjectPlaces,
  environment: Environment,
): Promise<LoadedProject> {
  const problems = new Problems();
  const parts = await readFolder(places, problems);
  const project = await assemble(parts, environment, problems);
  const entries = toEntries(parts, project.files);
  return { project: { ...project, modelId: fingerprint(entries) }, problems, entries };
}
