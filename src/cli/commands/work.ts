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
    .argument(
      '[agent]',
      'a module that exports an agent, the folder of an assistant, or a packed model',
      '.',
    )
    .option('--name <name>', "its name on the bus, instead of the agent's own")
    .option('--once', 'take one task, answer it, and end')
    .option('--idle-timeout <seconds>', 'with --once: end when no task comes', positiveNumber)
    .option('--concurrency <count>', 'turns that run at one time (default: 10)', count)
    .option('--prefetch <count>', 'tasks in hand at one time (default: concurrency)', count)
    .addOption(storeOption())
    .option('--trust', 'do for each caller what "legate trust" allows, and no more')
    .option('--no-announce', 'do not make the agent known to others')
    .option('--json', 'with --once: how it went, as JSON')
    .option(
      '--metrics-port <port>',
      'where Prometheus reads, with telemetry: {prometheus: true} in endpoints.yml (default: 9464; with --once: none)',
      readPort,
    )
    .addOption(logLevelOption('info'))
    .addHelpText(
      'after',
      `
A module names one of several agents by its export: agents.ts#bob.

With --once the exit code is 0 when the task went as it should (or none came in time), 1 when it
failed; the task is then answered all the same. Else 0 after Ctrl+C or SIGTERM, when turns under
way have ended or were given back.

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
