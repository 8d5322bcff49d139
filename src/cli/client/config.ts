import type { ConfigCommandOptions } from '../commands/agents.ts';
import { type SettingName, settingNames, Settings, variableOf } from './setting.ts';
import { plain } from './text.ts';

const defaults: Partial<Record<SettingName, string>> = {
  transport: "the card's order",
  'a2a-version': '1.0',
  key: 'in the file of the certificate',
  ca: 'those of Node',
  timeout: 'none',
  insecure: 'false',
  output: 'text',
  verbose: 'false',
  debug: 'false',
  async: 'false',
  'await-auth': 'false',
  'poll-interval': '2s',
};
const secret = new Set<SettingName>(['bearer', 'api-key', 'svc-param']);

/** Shows the effective value and the source of every setting. */
export function showConfig(options: ConfigCommandOptions): void {
  const settings = new Settings(process.env, {
    directory: process.cwd(),
    ...(options.config !== undefined && { config: options.config }),
  });
  const shown = settingNames.map((name) => {
    const found = settings.get(name);
    const value = found !== undefined && secret.has(name) ? '[redacted]' : found?.value;
    return {
      setting: name,
      variable: variableOf(name),
      value: value ?? defaults[name] ?? null,
      source: found?.source ?? 'the default',
    };
  });
  if (options.json === true) {
    process.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
    return;
  }
  for (const { setting, value, source } of shown) {
    process.stdout.write(`${setting}: ${plain(value ?? '(not set)')} (${source})\n`);
  }
}
