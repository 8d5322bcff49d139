import { Command, Option } from 'commander';
import { count, storeOption } from './bus-options.ts';

const levels = ['observe', 'learn', 'propose', 'act'] as const;

export interface TrustOptions {
  readonly store: string;
  readonly json?: boolean;
}

export interface AuditOptions extends TrustOptions {
  readonly limit: number;
}

export interface GrantOptions extends TrustOptions {
  readonly level?: (typeof levels)[number];
  readonly skill?: readonly string[];
  readonly by: string;
}

export function trustCommand(): Command {
  return new Command('trust')
    .addHelpText(
      'after',
      `
Levels: observe (requests are recorded), learn (information is stored), propose (requests wait for your
approval), act (approved skills run). Every caller starts at observe; callers that don't authenticate
stay there.

Examples:
  legate trust list
  legate trust grant message-token:alice --level act --skill negotiate-meeting
  legate trust grant peer:bob --level act --skill negotiate-meeting   (our agent may answer bob)
  legate trust revoke message-token:alice
  legate trust proposals
  legate trust approve 01a1…
  legate trust refuse 01a1…
  legate trust audit --limit 20`,
    )
    .addCommand(
      trust(
        'list',
        'list known callers with level, approved skills and interactions',
        'legate trust list --json',
      ).action(async (options: TrustOptions) => {
        const { listTrust } = await import('../trust.ts');
        await listTrust(options);
      }),
    )
    .addCommand(
      byWhom(
        trust(
          'grant',
          'set the level of a caller or peer and approve skills',
          'legate trust grant message-token:alice --level act --skill negotiate-meeting',
        ),
      )
        .argument('<caller>', 'method:subject or method:tenant:subject, as printed by list')
        .addOption(new Option('--level <level>', 'trust level').choices(levels))
        .option('--skill <id...>', 'additional skills to approve')
        .action(async (caller: string, options: GrantOptions) => {
          const { grantTrust } = await import('../trust.ts');
          await grantTrust(caller, options);
        }),
    )
    .addCommand(
      byWhom(
        trust(
          'revoke',
          'revoke approved skills; without --skill, all of them and the level',
          'legate trust revoke message-token:alice --skill negotiate-meeting',
        ),
      )
        .argument('<caller>', 'as printed by list')
        .option('--skill <id...>', 'revoke only these skills')
        .action(async (caller: string, options: GrantOptions) => {
          const { revokeTrust } = await import('../trust.ts');
          await revokeTrust(caller, options);
        }),
    )
    .addCommand(
      trust(
        'proposals',
        'list requests that wait for your approval',
        'legate trust proposals',
      ).action(async (options: TrustOptions) => {
        const { listProposals } = await import('../trust.ts');
        await listProposals(options);
      }),
    )
    .addCommand(decisionCommand('approve', 'approve a proposal and run it'))
    .addCommand(decisionCommand('refuse', 'reject a proposal'))
    .addCommand(
      trust('audit', 'print the audit log, newest first', 'legate trust audit --limit 20')
        .option('--limit <count>', 'maximum number to print', count, 100)
        .action(async (options: AuditOptions) => {
          const { showAudit } = await import('../trust.ts');
          await showAudit(options);
        }),
    );
}

function decisionCommand(name: 'approve' | 'refuse', description: string): Command {
  return byWhom(trust(name, description, `legate trust ${name} 01a1…`))
    .argument('<id>', 'id as printed by proposals')
    .action(async (id: string, options: GrantOptions) => {
      const { decide } = await import('../trust.ts');
      await decide(name, id, options);
    });
}

function trust(name: string, description: string, example: string): Command {
  return new Command(name)
    .description(description)
    .addHelpText('after', `\nExample:\n  ${example}`)
    .addOption(storeOption('.legate/store.db'))
    .option('--json', 'print one JSON object per line');
}

function byWhom(command: Command): Command {
  return command.option('--by <name>', 'name for the audit log', 'cli');
}
