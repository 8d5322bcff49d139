import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { present } from '../../config/index.ts';
import { quoted } from '../client/choices.ts';
import type { InitCommandOptions } from '../commands/assistants.ts';
import { askPlan, isName, nameRule, type Plan, defaultPlan } from './questions.ts';
import { installCommands, templateOf } from './template.ts';
import { usage } from '../usage.ts';

/** Creates a project that runs without changes. */
export async function init(folder: string, options: InitCommandOptions): Promise<void> {
  const { kind, name, description, yes, force = false } = options;
  if (name !== undefined && !isName(name)) {
    throw usage(`--name ${JSON.stringify(name)}: ${nameRule}`);
  }
  const directory = resolve(folder);
  const given: Partial<Plan> = {
    ...present({ kind, name, description }),
  };
  const isInteractive = yes !== true && process.stdin.isTTY && process.stderr.isTTY;
  const plan = isInteractive
    ? await askPlan(given, basename(directory), { input: process.stdin, output: process.stderr })
    : defaultPlan(given, basename(directory));
  const { files, commands } = templateOf({ ...plan, description: oneLine(plan.description) });
  if (!force) refuseLoss(directory, Object.keys(files));
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

/** Checks all files before it writes the first: half a project is worse than none. */
function refuseLoss(directory: string, paths: readonly string[]): void {
  const taken = paths.filter((path) => existsSync(join(directory, path)));
  if (taken.length === 0) return;
  throw usage(
    `${directory} already contains ${taken.join(', ')}; choose another folder, or overwrite with --force`,
  );
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 500);
}
