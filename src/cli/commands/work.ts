import { Command } from 'commander';
import {
  type BusPlaceOptions,
  count,
  positiveNumber,
  storeOption,
  withBus,
} from './bus-options.ts';
import { type LogLevel, logLevelOption, readPort } from './options.ts';

export interface WorkCommandOptions extends BusPlaceOptions {
  readonly name?: string;
  readonly once?: boolean;
  readonly idleTimeout?: number;
  readonly concurrency?: number;
  readonly prefetch?: number;
  readonly store?: string;
  readonly trust?: boolean;
  readonly announce: boolean;
  readonly json?: boolean;
  readonly metricsPort?: number;
  readonly logLevel: LogLevel;
}

export function workCommand(): Command {
  return withBus(new Command('work'))
    .argument('[agent]', 'module that exports an agent, assistant folder, or packed model', '.')
    .option('--name <name>', "name on the bus (default: the agent's own name)")
    .option('--once', 'process one task and exit')
    .option(
      '--idle-timeout <seconds>',
      'with --once: exit if no task arrives in this time',
      positiveNumber,
    )
    .option('--concurrency <count>', 'maximum concurrent turns (default: 10)', count)
    .option('--prefetch <count>', 'maximum unacknowledged tasks (default: concurrency)', count)
    .addOption(storeOption())
    .option('--trust', 'enforce the levels of "legate trust" for each caller')
    .option('--no-announce', 'do not announce the agent to others')
    .option('--json', 'with --once: print the outcome as JSON')
    .option(
      '--metrics-port <port>',
      'port of the Prometheus endpoint, if endpoints.yml has telemetry: {prometheus: true} (default: 9464; with --once: none)',
      readPort,
    )
    .addOption(logLevelOption('info'))
    .addHelpText(
      'after',
      `
If a module exports several agents, name one by its export: agents.ts#bob.

With --once, exits with 0 if the task succeeded or none arrived in time, and with 1 if it failed; the
caller gets its answer in both cases. Otherwise exits with 0 on Ctrl+C or SIGTERM, after running turns
have ended or were released to other workers.

Examples:
  legate work examples/research/researcher.ts --bus-url amqp://localhost
  AMQP_URL=amqp://localhost legate work researcher.ts --once --idle-timeout 60
  legate work examples/bank --name bank
  legate work models/bank.tar.gz --name bank`,
    )
    .action(async (agent: string, options: WorkCommandOptions) => {
      const { work } = await import('../work.ts');
      await work(agent, options);
    });
}
