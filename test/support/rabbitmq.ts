import { type ChildProcess, execFile } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort, installPackage, note, serverDirectory, startProcess } from './servers.ts';

const hint =
  'These tests need RabbitMQ: set AMQP_URL to a server, or install it (Debian: apt-get install ' +
  'rabbitmq-server) so that the tests can start one of their own.';

/**
 * `RABBITMQ_BIN` is the directory of another version's scripts. Debian's wrapper in /usr/sbin changes
 * the user; the script behind it does not.
 */
const scripts = [process.env.RABBITMQ_BIN ?? '', '/usr/lib/rabbitmq/bin', '/usr/local/sbin']
  .filter((directory) => directory !== '')
  .map((directory) => join(directory, 'rabbitmq-server'));

/** A RabbitMQ server for tests. */
export interface RabbitMq {
  readonly url: string;
  /** Ends and starts the server again; only where it is our own. */
  restart(): Promise<void>;
  /** Cuts every connection, as a network would. */
  closeConnections(): Promise<void>;
  /** Stops the process of the server, as a machine that hangs; connections stay open. */
  freeze(): void;
  /** Lets a frozen server continue. */
  thaw(): void;
  /** Raises or clears an alarm: the server blocks publishers while it stands. */
  alarm(kind: 'memory' | 'disk', isOn: boolean): Promise<void>;
}

/** A server with its command line. */
export interface OwnRabbitMq extends RabbitMq {
  /** Runs `rabbitmqctl`, and returns what it prints. */
  control(...args: string[]): Promise<string>;
  /** Ends the server as a crash would. */
  kill(): Promise<void>;
}

let shared: Promise<RabbitMq> | undefined;

/** The server of this test run: `AMQP_URL` where set, else one that is started when first asked for. */
export function rabbitMq(): Promise<RabbitMq> {
  shared ??= process.env.AMQP_URL ? given(process.env.AMQP_URL) : startRabbitMq();
  return shared;
}

async function given(url: string): Promise<RabbitMq> {
  const refuse = () => new Error('the server of AMQP_URL is not ours to disturb');
  return {
    url,
    restart: () => Promise.reject(refuse()),
    closeConnections: () => Promise.reject(refuse()),
    freeze: () => {
      throw refuse();
    },
    thaw: () => {
      throw refuse();
    },
    alarm: () => Promise.reject(refuse()),
  };
}

/** What a server of one's own has beside the usual. */
export interface RabbitMqOptions {
  /** Names of plugins, as `rabbitmq_management`. */
  readonly plugins?: readonly string[];
  /** Lines of rabbitmq.conf; `directory` is where the server keeps its files. */
  readonly config?: (directory: string) => readonly string[];
}

/** A server that is started for the caller alone, and ends with the test run. */
export async function startRabbitMq({
  plugins = [],
  config = () => [],
}: RabbitMqOptions = {}): Promise<OwnRabbitMq> {
  const script = scripts.find((path) => existsSync(path)) ?? installScript();
  const directory = serverDirectory('rabbitmq');
  const [port, distribution, mapper] = [await freePort(), await freePort(), await freePort()];
  const node = `legate${port}@localhost`;
  const lines = ['disk_free_limit.absolute = 50MB', ...config(directory)];
  writeFileSync(join(directory, 'plugins'), `[${plugins.join(',')}].`);
  writeFileSync(join(directory, 'rabbitmq.conf'), `${lines.join('\n')}\n`);
  writeFileSync(join(directory, 'stop'), `kill -9 $(cat pid)\nepmd -port ${mapper} -kill\n`);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env.PATH,
    HOME: directory,
    RABBITMQ_NODENAME: node,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distribution),
    ERL_EPMD_PORT: String(mapper),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    // Else the mapper refuses to end while it still knows of the server that was just ended.
    ERL_EPMD_RELAXED_COMMAND_CHECK: '1',
    RABBITMQ_MNESIA_BASE: join(directory, 'data'),
    RABBITMQ_LOG_BASE: join(directory, 'log'),
    RABBITMQ_PID_FILE: join(directory, 'pid'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'plugins'),
    RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq'),
    RABBITMQ_CONF_ENV_FILE: join(directory, 'none'),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '+S 1:1 +sbwt none',
  };
  // Asynchronous: the broker waits for its clients, which may be in this process or thawed by it.
  const control = async (...args: string[]): Promise<string> =>
    (await promisify(execFile)(join(script, '../rabbitmqctl'), ['-n', node, ...args], { env }))
      .stdout;
  const start = async (): Promise<ChildProcess> => {
    const child = startProcess(script, [], { directory, env });
    note(child, directory);
    await untilOpen(port);
    return child;
  };
  let child = await start();
  const signal = (name: NodeJS.Signals): void => {
    process.kill(Number(readFileSync(join(directory, 'pid'), 'utf8')), name);
  };
  return {
    url: `amqp://guest:guest@127.0.0.1:${port}`,
    async restart() {
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      await control('stop');
      await gone;
      child = await start();
    },
    closeConnections: async () => void (await control('close_all_connections', 'test')),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    control: (...args) => control('-q', ...args),
    async kill() {
      const gone = new Promise((resolve) => void child.once('exit', resolve));
      signal('SIGKILL');
      await gone;
    },
    async alarm(kind, isOn) {
      const [command, raised, usual] = {
        memory: ['set_vm_memory_high_watermark', '0', '0.4'],
        disk: ['set_disk_free_limit', '1000000GB', '50MB'],
      }[kind] as [string, string, string];
      await control(command, isOn ? raised : usual);
    },
  };
}

function installScript(): string {
  installPackage('rabbitmq-server', hint);
  const found = scripts.find((path) => existsSync(path));
  if (found === undefined) throw new Error(hint);
  return found;
}

async function untilOpen(port: number): Promise<void> {
  const deadline = Date.now() + 120_000;
  while (!(await isOpen(port))) {
    if (Date.now() > deadline) throw new Error('RabbitMQ did not start');
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** RabbitMQ answers a wrong greeting with its own: then it is ready, not only listening. */
function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (result: boolean): void => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => socket.write('AMQP\0\0\x09\x00'));
    socket.once('data', () => done(true));
    socket.once('error', () => done(false));
    socket.setTimeout(2_000, () => done(false));
  });
}
