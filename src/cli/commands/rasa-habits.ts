/** Commands that Rasa and Legate share. */
const shared = new Set(['run', 'shell', 'chat', 'inspect', 'train', 'validate', 'test']);
/** Shared commands with a log level. */
const logging = new Set(['run', 'shell', 'chat', 'inspect', 'test']);

/** Parts of a project that `rasa data validate` can validate separately. */
const parts = new Set(['flows', 'stories', 'translations']);
/** Models that `rasa train` and `rasa shell` can use separately. */
const models = new Set(['nlu', 'core']);

/** Rasa commands that Legate does not need and accepts for scripts, with the reason. */
const needless: ReadonlyMap<string, string> = new Map([
  ['telemetry', 'nothing to do: Legate collects no data about its use'],
  ['license', 'nothing to do: Legate needs no license'],
  ['test nlu', 'nothing to do: no NLU model is trained; "legate test e2e" runs the conversations'],
  ['test core', 'nothing to do: no stories are read; "legate test e2e" runs the conversations'],
]);

/** Rasa commands without a counterpart, with the alternative. */
const replaced: ReadonlyMap<string, string> = new Map([
  [
    'interactive',
    'talk to the assistant with "legate shell", or with "legate dev" while you edit it',
  ],
  ['visualize', 'the inspector shows the flows: "legate inspect"'],
  ['x', 'the inspector shows conversations: "legate inspect"'],
  ['export', 'read conversations from the HTTP API: "legate run --enable-api"'],
  ['evaluate', 'count markers in the traces and metrics of "telemetry" in endpoints.yml'],
  ['studio', 'edit the files of the project'],
  ['llm', 'run the conversations with "legate test e2e"'],
  ['data split', 'there is no training data; write end-to-end tests'],
  ['data convert', 'there is no training data; write flows'],
  ['data migrate', 'write flows'],
]);

const levels: ReadonlyMap<string, string> = new Map([
  ['-v', 'info'],
  ['--verbose', 'info'],
  ['-vv', 'debug'],
  ['--debug', 'debug'],
  ['--quiet', 'error'],
]);

/** Rasa options without an effect in Legate, and whether a value follows. */
const withoutEffect: ReadonlyMap<string, boolean> = new Map([
  ['--force', false],
  ['--skip-validation', false],
  ['--auto-reload', false],
  ['--use-syslog', false],
  ['--finetune', false],
  ['--persist-nlu-data', false],
  ['--remote-storage', true],
  ['--log-file', true],
  ['--logging-config-file', true],
  ['--connector', true],
  ['--response-timeout', true],
  ['--request-timeout', true],
  ['--num-threads', true],
  ['--augmentation', true],
  ['--max-history', true],
  // For `run actions`, which prints that the action server starts with the assistant.
  ['--actions', true],
]);

/** Rasa options with another name in Legate. */
const renamed: ReadonlyMap<string, string> = new Map([['--conversation-id', '--sender']]);

/** A translated command line, with a warning for the user. */
export interface Habits {
  readonly args: readonly string[];
  readonly warning?: string;
  /** The exit code of a command that is not run: 0 if Legate does not need it, 2 if it has an alternative. */
  readonly exitCode?: 0 | 2;
}

/** Translates `data validate flows` to `validate`, which validates all parts. */
function withoutData(typed: readonly string[]): readonly string[] {
  const [data, command, part = '', ...rest] = typed;
  if (data !== 'data' || command !== 'validate') return typed;
  return parts.has(part) ? [command, ...rest] : typed.slice(1);
}

/** Translates Rasa command lines: `data validate`, `run -vv --debug`, `test e2e --e2e-results`. */
export function fromRasa(typed: readonly string[]): Habits {
  return withoutCounterpart(typed) ?? translate(typed);
}

function withoutCounterpart(typed: readonly string[]): Habits | undefined {
  const [first = '', second = ''] = typed;
  for (const name of [first, `${first} ${second}`]) {
    const reason = needless.get(name);
    if (reason !== undefined) return { args: typed, warning: reason, exitCode: 0 };
    const instead = replaced.get(name);
    if (instead === undefined) continue;
    return { args: typed, warning: `there is no command "${name}": ${instead}`, exitCode: 2 };
  }
  return undefined;
}

/** Removes an argument that selects one model: Legate commands use the whole project. */
function withoutModel(typed: readonly string[]): { given: readonly string[]; ignored: string[] } {
  const [command = '', part = '', ...rest] = typed;
  const isPart = ['train', 'shell'].includes(command) && models.has(part);
  return isPart ? { given: [command, ...rest], ignored: [part] } : { given: typed, ignored: [] };
}

function translate(typed: readonly string[]): Habits {
  const { given, ignored } = withoutModel(withoutData(typed));
  const [command = ''] = given;
  if (!shared.has(command)) return { args: typed };
  const args: string[] = [];
  for (let at = 0; at < given.length; at += 1) {
    const arg = given[at] ?? '';
    const [name = '', value] = arg.split('=', 2);
    const level = levels.get(arg);
    const next = given[at + 1];
    const hasValue = next !== undefined && !next.startsWith('-');
    if (level !== undefined) {
      if (logging.has(command)) args.push('--log-level', level);
      // `--debug` also logs the requests to a remote agent.
      if (arg === '--debug' && ['shell', 'chat', 'inspect'].includes(command)) args.push(arg);
    } else if (name === '--e2e-results') {
      args.push('--output-results', value ?? (hasValue ? next : 'tests'));
      args.push('--results-prefix', 'e2e_results_');
      if (value === undefined && hasValue) at += 1;
    } else if (withoutEffect.has(name)) {
      ignored.push(name);
      if (withoutEffect.get(name) === true && value === undefined && hasValue) at += 1;
    } else args.push(renamed.has(name) ? arg.replace(name, renamed.get(name) ?? name) : arg);
  }
  if (ignored.length === 0) return { args };
  return { args, warning: `no effect here: ${ignored.join(', ')}` };
}
