import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OtlpCollector } from '../../test/support/otlp-collector.ts';
import { startPostgres } from '../../test/support/postgres.ts';
import { type OwnRabbitMq, startRabbitMq } from '../../test/support/rabbitmq.ts';
import { endServers, freePort, installPackage } from '../../test/support/servers.ts';
import { makeKeys, type Secrets } from './keys.ts';
import { Service, type ServiceOptions } from './service.ts';

const here = import.meta.dirname;
const root = join(here, '../..');
const legate = [process.execPath, join(root, 'bin/legate.cjs')] as const;
const environmentOfPython = join(root, 'node_modules/.cache/company-python');

/** The whole system on one machine, without containers. */
export interface Company extends AsyncDisposable {
  readonly services: ReadonlyMap<string, Service>;
  readonly secrets: Secrets;
  readonly tokenKey: Awaited<ReturnType<typeof makeKeys>>['tokenKey'];
  /** The folder of keys and certificates. */
  readonly keys: string;
  /** The certificate of the certificate authority. */
  readonly ca: string;
  readonly gatewayUrl: string;
  readonly bankUrl: string;
  /** The metrics URL of each Legate process. */
  readonly metricsUrls: ReadonlyMap<string, string>;
  readonly collector: OtlpCollector;
  readonly broker: OwnRabbitMq;
  service(name: string): Service;
  /** Runs a `legate` command with the environment of a service; returns its output. */
  run(service: string, ...args: readonly string[]): Promise<string>;
}

export async function startCompany(folder: string): Promise<Company> {
  await using stack = new AsyncDisposableStack();
  stack.defer(endServers);
  const python = installPython();
  if (!existsSync('/usr/sbin/haproxy')) installPackage('haproxy', 'Install haproxy.');
  const keys = join(folder, 'keys');
  mkdirSync(join(folder, 'logs'), { recursive: true });
  const { secrets, tokenKey } = await makeKeys(keys);
  const ca = readFileSync(join(keys, 'ca.pem'), 'utf8');
  const [database, broker] = await Promise.all([startPostgres(), startRabbitMq()]);
  const collector = stack.use(await OtlpCollector.open());
  const ports = new Map<string, number>();
  for (const name of ['model', 'loans', 'bank1', 'bank2', 'proxy', 'desk1', 'desk2', 'gateway']) {
    ports.set(name, await freePort());
  }
  const host = (name: string) => `127.0.0.1:${ports.get(name)}`;
  const bankUrl = `https://${host('proxy')}`;
  const shared = {
    ...secrets,
    KEYS: keys,
    MODEL: 'scripted',
    MODEL_URL: `http://${host('model')}/v1`,
    MODEL_KEY: 'none',
    LOANS_URL: `http://${host('loans')}`,
    BANK_URL: bankUrl,
    AMQP_URL: broker.url,
    OTLP_ENDPOINT: collector.endpoint,
    BANK1: host('bank1'),
    BANK2: host('bank2'),
    PROXY_LISTEN: host('proxy'),
  };
  const databases = {
    bank: await database.database(),
    desk: await database.database(),
    gateway: await database.database(),
  };
  const services = new Map<string, Service>();
  const environments = new Map<string, Record<string, string>>();
  const start = async (
    name: string,
    options: Pick<ServiceOptions, 'command' | 'probe' | 'ca'>,
    env: Readonly<Record<string, string>> = {},
  ): Promise<void> => {
    const log = join(folder, 'logs', `${name}.log`);
    const environment = { ...shared, ...env };
    const service = new Service({ name, log, env: environment, ...options });
    services.set(name, service);
    environments.set(name, environment);
    stack.defer(() => service.kill());
    await service.start();
  };
  await start(
    'model',
    {
      command: [
        process.execPath,
        '--import',
        join(root, 'test/docs/own-name.ts'),
        join(here, 'model.ts'),
      ],
      probe: `http://${host('model')}/v1/models`,
    },
    { PORT: String(ports.get('model')) },
  );
  await start('loans', {
    command: [python, join(here, 'loans/agent.py')],
    probe: `http://${host('loans')}/.well-known/agent-card.json`,
  });
  for (const name of ['bank1', 'bank2']) {
    await start(
      name,
      {
        command: [
          ...legate,
          'run',
          join(here, '../bank'),
          '--endpoints',
          join(here, 'bank/endpoints.yml'),
          '--credentials',
          join(here, 'bank/credentials.yml'),
          '--sub-agents',
          join(here, 'bank/sub_agents'),
          '--port',
          String(ports.get(name)),
          '--ssl-certificate',
          join(keys, 'bank.pem'),
          '--ssl-keyfile',
          join(keys, 'bank.key'),
        ],
        probe: `https://${host(name)}/ready`,
        ca,
      },
      { DATABASE_URL: databases.bank },
    );
  }
  await start('proxy', {
    command: ['/usr/sbin/haproxy', '-db', '-f', join(here, 'proxy/haproxy.cfg')],
    probe: `${bankUrl}/ready`,
    ca,
  });
  for (const name of ['desk1', 'desk2']) {
    await start(
      name,
      {
        command: [
          ...legate,
          'work',
          join(here, 'desk/agent.ts'),
          '--port',
          String(ports.get(name)),
        ],
        probe: `http://${host(name)}/ready`,
      },
      { DATABASE_URL: databases.desk },
    );
  }
  await start(
    'gateway',
    {
      command: [
        ...legate,
        'gateway',
        'desk',
        '--endpoints',
        join(here, 'gateway/endpoints.yml'),
        '--port',
        String(ports.get('gateway')),
      ],
      probe: `http://${host('gateway')}/ready`,
    },
    { DATABASE_URL: databases.gateway },
  );
  const opened = stack.move();
  return {
    services,
    secrets,
    tokenKey,
    keys,
    ca,
    bankUrl,
    gatewayUrl: `http://${host('gateway')}`,
    metricsUrls: new Map(
      ['bank1', 'bank2', 'desk1', 'desk2', 'gateway'].map((name) => [
        name,
        `${name.startsWith('bank') ? 'https' : 'http'}://${host(name)}/metrics`,
      ]),
    ),
    collector,
    broker,
    service(name) {
      const found = services.get(name);
      if (found === undefined) throw new Error(`the company has no service ${name}`);
      return found;
    },
    async run(name, ...args) {
      const [node, ...command] = legate;
      const env = { ...process.env, ...environments.get(name) };
      return (await promisify(execFile)(node, [...command, ...args], { env })).stdout;
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The interpreter of a virtual environment with the packages of the Python agent, created once. */
function installPython(): string {
  const python = join(environmentOfPython, 'bin/python');
  const requirements = join(here, 'loans/requirements.txt');
  if (!existsSync(python)) {
    execFileSync('python3', ['-m', 'venv', environmentOfPython], { stdio: 'inherit' });
  }
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    requirements,
  ];
  execFileSync(python, pip, { stdio: ['ignore', 'ignore', 'inherit'] });
  return python;
}
