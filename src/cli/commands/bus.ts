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
  legate bus declare researcher                     tasks wait there from now on
  legate bus dead list researcher --json            what was given up, and why
  legate bus dead replay researcher --all           all of it again
  legate bus key alice --out keys                   keys/alice.pem and keys/alice.jwks.json`,
    )
    .addCommand(declareCommand())
    .addCommand(
      new Command('dead')
        .description('messages that were given up')
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
    .description('make the queues of an agent, so that its tasks wait while it does not run')
    .argument('<agent>', 'its name, or where it is, as for "legate work"')
    .option('--name <name>', "its name on the bus, instead of the agent's own")
    .option('--announce', 'make its card known too, for a day; needs the agent, not only its name')
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
    .description('show the dead letters of an agent, the oldest first')
    .argument('<agent>', 'its name on the bus, or the name of a queue (legate.task.alice)')
    .option('--limit <count>', 'at most so many', count, 100)
    .option('--bodies', 'with what was in them')
    .option('--json', 'one JSON object a line')
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
    .description('put dead letters back into their queue, as if they were new')
    .argument('<agent>', 'its name on the bus, or the name of a queue')
    .argument('[ids...]', 'ids of dead letters, as shown by list')
    .option('--all', 'all dead letters')
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
    .description('make a key with which an agent or a gateway signs its messages')
    .argument('<name>', 'of the agent or gateway')
    .option('--out <folder>', 'where to write {name}.pem and {name}.jwks.json', '.')
    .addHelpText(
      'after',
      `
The .pem is the secret (bus.signing_key of its owner); the .jwks.json is for those who shall believe
it (bus.trusted of the others).

Example:
  legate bus key gateway --out keys`,
    )
    .action(async (name: string, options: KeyOptions) => {
      const { makeKey } = await import('../bus.ts');
      await makeKey(name, options);
    });
}
