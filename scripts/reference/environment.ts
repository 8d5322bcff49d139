import { mismatches, sources } from './scan.ts';

/** Every environment variable that the code reads, with its meaning. */
const variables: Readonly<Record<string, string>> = {
  LOG_LEVEL:
    'Log level: `debug`, `info`, `warn`, `error` or `silent`; same as `--log-level`. Also the level of programs that set no logger (default: `warn`)',
  LOG_FORMAT: '`json` or `pretty` (default: `pretty` in a terminal, else `json`)',
  NODE_ENV: '`production`: `legate dev` and `legate shell` do not tell callers why an agent failed',
  BROWSER: '`none`: no command opens a browser',
  LEGATE_SHELL_HISTORY:
    'File with the lines typed into `legate shell` (default: `shell-history` beside the settings of the user); empty: none are kept',
  LEGATE_URL: 'Public URL of `legate run` and `legate gateway`; same as `--url`',
  LEGATE_STORE: 'Store of commands that need one; same as `--store`',
  DATABASE_URL: 'Database of `legate db`',
  AMQP_URL: 'RabbitMQ URL, unless `--bus-url` or `bus:` sets one',
  AUTH_TOKEN: 'Token of the HTTP API; same as `--auth-token`',
  JWT_SECRET: 'Same as `--jwt-secret`',
  JWT_METHOD: 'Same as `--jwt-method`',
  INSPECT_TOKEN: 'Token of the inspector link; same as `--inspect-token`',
  SSL_PASSWORD: 'Passphrase of the private key; same as `--ssl-password`',
  SANIC_WORKERS: 'Values above 1 are rejected with a memory store and ignored otherwise',
  VIRTUAL_ENV: 'Virtual environment of Python actions, after `.venv` of the project',
  CLARIFY_ON_MULTIPLE_START_FLOWS:
    '`True`: ask for clarification when a message could start several flows',
  MAX_NUMBER_OF_PREDICTIONS_CALM: 'Maximum steps per turn of an assistant (default: 1000)',
  'A2ACLI_<FLAG>': 'Any flag of the commands that call agents, e.g. `A2ACLI_AGENT_CARD`',
  A2ACLI_CLIENT_ID: 'OAuth client id; same as `--client-id`',
  A2ACLI_CLIENT_SECRET: 'OAuth client secret of `legate auth login`',
  A2ACLI_KEY_PASSPHRASE: 'Passphrase of the private key of a client certificate',
  A2ACLI_PUSH_CREDENTIALS: 'Credentials that the agent sends to a webhook',
  OPENAI_API_KEY: 'API key for models of this provider that set no `api_key`',
  OPENAI_API_BASE: 'Default of `api_base`',
  OPENAI_BASE_URL: 'Same as `OPENAI_API_BASE`, which goes before it',
  AZURE_API_KEY: 'Same, for this provider',
  AZURE_API_BASE: 'Default of `api_base`',
  AZURE_API_VERSION: 'Default of `api_version`',
  ANTHROPIC_API_KEY: 'Same, for this provider',
  COHERE_API_KEY: 'Same, for this provider',
  DEEPINFRA_API_KEY: 'Same, for this provider',
  DEEPSEEK_API_KEY: 'Same, for this provider',
  GEMINI_API_KEY: 'Same, for this provider',
  GROQ_API_KEY: 'Same, for this provider',
  LITELLM_PROXY_API_KEY: 'Same, for this provider',
  MISTRAL_API_KEY: 'Same, for this provider',
  OPENROUTER_API_KEY: 'Same, for this provider',
  RASA_LICENSE: 'Same, for this provider',
  TOGETHERAI_API_KEY: 'Same, for this provider',
  XAI_API_KEY: 'Same, for this provider',
};

/** Variables that are common to all programs, and need no description. */
const usual = new Set([
  'HOME',
  'PATH',
  'PYTHONPATH',
  'DISPLAY',
  'WAYLAND_DISPLAY',
  'XDG_CONFIG_HOME',
  'NODE_TLS_REJECT_UNAUTHORIZED',
]);

export function environmentTable(): string {
  const wrong = environmentMismatches();
  if (wrong.length > 0) throw new Error(`scripts/reference/environment.ts:\n${wrong.join('\n')}`);
  return [
    '## Environment',
    'Project files can also read any variable as `${NAME}`.',
    [
      '| variable | |',
      '|---|---|',
      ...Object.entries(variables).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`),
    ].join('\n'),
  ].join('\n\n');
}

/** Variables that are read but not described, and variables that are described but not read. */
export function environmentMismatches(): readonly string[] {
  const read = new Set<string>();
  for (const text of sources().values()) {
    const code = text.replaceAll(/^\s*\*.*$/gm, '');
    for (const [, names = ''] of code.matchAll(
      /(?:env(?:ironment)?\[|\benv: |keyVariable: |baseVariables: \[)('[A-Z][A-Z0-9_]+'(?:, '[A-Z][A-Z0-9_]+')*)/g,
    )) {
      for (const name of names.replaceAll("'", '').split(', ')) {
        if (!usual.has(name)) read.add(name);
      }
    }
  }
  const described = Object.keys(variables).filter((name) => !name.includes('<'));
  return mismatches('variable', read, described);
}
