/** Commands that Rasa has too. */
const shared = new Set(['run', 'shell', 'chat', 'inspect', 'train', 'validate', 'test']);
/** Those of them that log. */
const logging = new Set(['run', 'shell', 'chat', 'inspect', 'test']);

/** What `rasa data validate` may validate alone. */
const parts = new Set(['flows', 'stories', 'translations']);

const levels: ReadonlyMap<string, string> = new Map([
  ['-v', 'info'],
  ['--verbose', 'info'],
  ['-vv', 'debug'],
  ['--debug', 'debug'],
  ['--quiet', 'error'],
]);

/** Options of Rasa that have no effect here, and whether a value follows. */
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
  // Of `run actions`, which says that the action server starts with the assistant.
  ['--actions', true],
]);

/** Other names of options. */
const renamed: ReadonlyMap<string, string> = new Map([['--conversation-id', '--sender']]);

/** A command line as it is parsed, and what to tell about it. */
export interface Habits {
  readonly args: readonly string[];
  readonly warning?: string;
}

/** `data validate flows` as `validate`: all parts are validated together. */
function withoutData(typed: readonly string[]): readonly string[] {
  const [data, command, part = '', ...rest] = typed;
  if (data !== 'data' || command !== 'validate') return typed;
  return parts.has(part) ? [command, ...rest] : typed.slice(1);
}

/** Translates what Rasa's users type: `data validate`, `run -vv --debug`, `test e2e --e2e-results`. */
export function fromRasa(typed: readonly string[]): Habits {
  const given = withoutData(typed);
  const [command = ''] = given;
  if (!shared.has(command)) return { args: typed };
  const args: string[] = [];
  const ignored: string[] = [];
  for (let at = 0; at < given.length; at += 1) {
    const arg = given[at] ?? '';
    const [name = '', value] = arg.split('=', 2);
    const level = levels.get(arg);
    const next = given[at + 1];
    const hasValue = next !== undefined && !next.startsWith('-');
    if (level !== undefined) {
      if (logging.has(command)) args.push('--log-level', level);
      // Also logs the requests to an agent elsewhere.
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
