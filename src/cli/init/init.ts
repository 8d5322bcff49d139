import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { present } from '../../config/index.ts';
import { quoted } from '../client/choices.ts';
import type { InitCommandOptions } from '../commands/assistants.ts';
import { askFolder, askPlan, isName, nameRule, type Plan, defaultPlan } from './questions.ts';
import { installCommands, templateOf } from './template.ts';
import { usage } from '../usage.ts';

/** Creates a project that runs without changes. */
export async function init(folder: string, options: InitCommandOptions): Promise<void> {
  const { kind, name, description, yes, force = false } = options;
  if (name !== undefined && !isName(name)) {
    throw usage(`--name ${JSON.stringify(name)}: ${nameRule}`);
  }
  const streams = { input: process.stdin, output: process.stderr };
  const isInteractive = yes !== true && process.stdin.isTTY && process.stderr.isTTY;
  const given: Partial<Plan> = present({ kind, name, description });
  const base = basename(resolve(folder));
  const plan = isInteractive ? await askPlan(given, base, streams) : defaultPlan(given, base);
  const { files, commands } = templateOf({ ...plan, description: oneLine(plan.description) });
  const lossIn = (place: string): string | undefined =>
    force ? undefined : loss(resolve(place), Object.keys(files));
  const problem = lossIn(folder);
  if (problem !== undefined && !isInteractive) {
    throw usage(`${problem}; choose another folder, or overwrite with --force`);
  }
  const directory = resolve(
    problem === undefined
      ? folder
      : await askFolder(
          `${problem}. Folder of the project`,
          join(folder, plan.name),
          lossIn,
          streams,
        ),
  );
  for (const [path, text] of Object.entries(files)) {
    const file = join(directory, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    console.log(relative('.', file));
  }
  const here = relative('.', directory);
  const go = here === '' ? [] : [`cd ${quoted(here)}`];
  const steps = [...go, ...installCommands(directory), ...commands].map(
    (command) => `  ${command}`,
  );
  console.error(`\nCreated the ${plan.kind} "${plan.name}". Next steps:\n${steps.join('\n')}`);
}

/** The existing files that the project would overwrite, as an error text; undefined if there are none. */
function loss(directory: string, paths: readonly string[]): string | undefined {
  const taken = paths.filter((path) => existsSync(join(directory, path)));
  if (taken.length === 0) return undefined;
  return `${directory} already contains ${taken.join(', ')}`;
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 500);
}
