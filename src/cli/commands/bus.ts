import { Command } from 'commander';
import { type BusPlaceOptions, count, withBus } from './bus-options.ts';

export interface DeclareOptions extends BusPlaceOptions {
  readonly name?: string;
  readonly announce?: boolean;
}

export interface DeadListOptions extends BusPlaceOptions {
  readonly limit: number;
  readonly json?: boolean;
  readonly bodies?: boolean;
}

export interface DeadReplayOptions extends BusPlaceOptions {
  readonly all?: boolean;
}

export interface KeyOptions {
  readonly out: string;
}

export function busCommand(): Command {
  return new Command('bus')
    .addHelpText(
      'after',
      `
Examples:
  legate bus declare researcher                     creates its queues; tasks wait there
  legate bus dead list researcher --json            dead letters with their reasons
  legate bus dead replay researcher --all           retry all of them
  legate bus key alice --out keys                   keys/alice.pem and keys/alice.jwks.json`,
    )
    .addCommand(declareCommand())
    .addCommand(
      new Command('dead')
        .description('list and replay dead letters')
        .addHelpText(
          'after',
          `
Examples:
  legate bus dead list researcher --json
  legate bus dead replay researcher --all`,
        )
        .addCommand(deadListCommand())
        .addCommand(deadReplayCommand()),
    )
    .addCommand(keyCommand());
}

function declareCommand(): Command {
  return withBus(new Command('declare'))
    .description('create the queues of an agent, so that tasks wait while no worker runs')
    .argument('<agent>', 'name of the agent, or its module or folder as for "legate work"')
    .option('--name <name>', "name on the bus (default: the agent's own name)")
    .option(
      '--announce',
      'also announce its card, for a day; needs the module or folder, not just the name',
    )
    .addHelpText(
      'after',
      `
Examples:
  legate bus declare researcher
  legate bus declare ./researcher.ts --announce`,
    )
    .action(async (agent: string, options: DeclareOptions) => {
      const { declareAgent } = await import('../bus.ts');
      await declareAgent(agent, options);
    });
}

function deadListCommand(): Command {
  return withBus(new Command('list'))
    .description('list the dead letters of an agent, oldest first')
    .argument('<agent>', 'name of the agent or of a queue (legate.task.alice)')
    .option('--limit <count>', 'maximum number to list', count, 100)
    .option('--bodies', 'include the message bodies')
    .option('--json', 'print one JSON object per line')
    .addHelpText(
      'after',
      `
Examples:
  legate bus dead list researcher
  legate bus dead list researcher --bodies --json`,
    )
    .action(async (agent: string, options: DeadListOptions) => {
      const { listDead } = await import('../bus.ts');
      await listDead(agent, options);
    });
}

function deadReplayCommand(): Command {
  return withBus(new Command('replay'))
    .description('move dead letters back to their queue')
    .argument('<agent>', 'name of the agent or of a queue')
    .argument('[ids...]', 'ids as printed by "bus dead list"')
    .option('--all', 'replay all dead letters')
    .addHelpText(
      'after',
      `
Examples:
  legate bus dead replay researcher 01a1… 01a2…
  legate bus dead replay researcher --all`,
    )
    .action(async (agent: string, ids: readonly string[], options: DeadReplayOptions) => {
      const { replayDead } = await import('../bus.ts');
      await replayDead(agent, ids, options);
    });
}

function keyCommand(): Command {
  return new Command('key')
    .description('create a key pair for signing the messages of an agent or gateway')
    .argument('<name>', 'name of the agent or gateway')
    .option('--out <folder>', 'folder for {name}.pem and {name}.jwks.json', '.')
    .addHelpText(
      'after',
      `
The .pem file is the private key (bus.signing_key of its owner). Give the .jwks.json file to those who
verify its messages (bus.trusted).

Example:
  legate bus key gateway --out keys`,
    )
    .action(async (name: string, options: KeyOptions) => {
      const { makeKey } = await import('../bus.ts');
      await makeKey(name, options);
    });
}
