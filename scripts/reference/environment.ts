import { sources } from './scan.ts';

/** Every variable of the environment that is read, with what it does. */
const variables: Readonly<Record<string, string>> = {
  LOG_LEVEL:
    'What is logged: `debug`, `info`, `warn`, `error` or `silent`; as `--log-level`. In programs that name no logger, too: `warn` unless set',
  LOG_FORMAT: '`json` or `pretty`; else pretty on a terminal',
  LEGATE_STORE: 'The store of commands that need one; as `--store`',
  DATABASE_URL: 'The database of `legate db`',
  AMQP_URL: 'The broker, where neither `--bus-url` nor `bus:` names one',
  AUTH_TOKEN: 'The token of the HTTP API; as `--auth-token`',
  JWT_SECRET: 'As `--jwt-secret`',
  JWT_METHOD: 'As `--jwt-method`',
  INSPECT_TOKEN: 'The token in the link of the inspector; as `--inspect-token`',
  SSL_PASSWORD: 'Of the private key; as `--ssl-password`',
  SANIC_WORKERS: 'More than 1 is refused with a store in memory, and has no effect otherwise',
  CLARIFY_ON_MULTIPLE_START_FLOWS:
    '`True`: a message that could start several flows ends in a question',
  MAX_NUMBER_OF_PREDICTIONS_CALM: 'Steps of one turn of an assistant; 1000 unless set',
  'A2ACLI_<FLAG>': 'Every flag of the commands that call agents, `A2ACLI_AGENT_CARD` for instance',
  A2ACLI_CLIENT_SECRET: 'Of `legate auth login`, which has no flag for it',
  A2ACLI_KEY_PASSPHRASE: 'Of the private key of a client certificate',
  A2ACLI_PUSH_CREDENTIALS: 'What a webhook is to be called with',
  OPENAI_API_KEY: 'Keys of models that name none in `api_key`, by provider',
  AZURE_API_KEY: '',
  AZURE_API_BASE: 'Where `api_base` is left out',
  AZURE_API_VERSION: 'Where `api_version` is left out',
  ANTHROPIC_API_KEY: '',
  DEEPSEEK_API_KEY: '',
  GEMINI_API_KEY: '',
  GROQ_API_KEY: '',
  LITELLM_PROXY_API_KEY: '',
  MISTRAL_API_KEY: '',
  OPENROUTER_API_KEY: '',
};

/** What every program reads, and what stands for a flag. */
const usual = new Set(['HOME', 'PATH', 'XDG_CONFIG_HOME', 'NODE_TLS_REJECT_UNAUTHORIZED']);

export function environmentTable(): string {
  const wrong = environmentMismatches();
  if (wrong.length > 0) throw new Error(`scripts/reference/environment.ts:\n${wrong.join('\n')}`);
  return [
    '## Environment',
    'Besides what files of a project ask for by `${NAME}`.',
    [
      '| variable | |',
      '|---|---|',
      ...Object.entries(variables).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`),
    ].join('\n'),
  ].join('\n\n');
}

/** Variables that the code reads and nobody describes, and the other way. */
export function environmentMismatches(): readonly string[] {
  const read = new Set<string>();
  for (const text of sources().values()) {
    const code = text.replaceAll(/^\s*\*.*$/gm, '');
    for (const [, name = ''] of code.matchAll(
      /(?:env(?:ironment)?\[|\.env\(|keyVariable: )'([A-Z][A-Z0-9_]+)'/g,
    )) {
      if (!usual.has(name)) read.add(name);
    }
  }
  const described = Object.keys(variables).filter((name) => !name.includes('<'));
  return [
    ...[...read]
      .filter((name) => !described.includes(name))
      .map((name) => `${name} is not described`),
    ...described
      .filter((name) => !read.has(name))
      .map((name) => `${name} is described, but not read`),
  ];
}
