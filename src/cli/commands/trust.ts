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
Levels: observe (what is asked is noted), learn (what is told is kept), propose (what is asked is put
to you), act (skills that you approve are carried out). Everybody begins as an observer, and who
proves nothing about itself stays one.

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
        'show who is known, with level, approved skills and interactions',
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
          'set the level of a caller or peer, and approve skills',
          'legate trust grant message-token:alice --level act --skill negotiate-meeting',
        ),
      )
        .argument('<caller>', 'method:subject or method:tenant:subject, as list shows it')
        .addOption(new Option('--level <level>', 'what it may do').choices(levels))
        .option('--skill <id...>', 'skills to approve beside those that are')
        .action(async (caller: string, options: GrantOptions) => {
          const { grantTrust } = await import('../trust.ts');
          await grantTrust(caller, options);
        }),
    )
    .addCommand(
      byWhom(
        trust(
          'revoke',
          'take back the approval of skills; without --skill, everything',
          'legate trust revoke message-token:alice --skill negotiate-meeting',
        ),
      )
        .argument('<caller>', 'as list shows it')
        .option('--skill <id...>', 'these skills only')
        .action(async (caller: string, options: GrantOptions) => {
          const { revokeTrust } = await import('../trust.ts');
          await revokeTrust(caller, options);
        }),
    )
    .addCommand(
      trust(
        'proposals',
        'show what callers ask for that waits for you',
        'legate trust proposals',
      ).action(async (options: TrustOptions) => {
        const { listProposals } = await import('../trust.ts');
        await listProposals(options);
      }),
    )
    .addCommand(decisionCommand('approve', 'have a proposal carried out'))
    .addCommand(decisionCommand('refuse', 'reject a proposal'))
    .addCommand(
      trust('audit', 'show who changed what, the newest first', 'legate trust audit --limit 20')
        .option('--limit <count>', 'at most so many', count, 100)
        .action(async (options: AuditOptions) => {
          const { showAudit } = await import('../trust.ts');
          await showAudit(options);
        }),
    );
}

function decisionCommand(name: 'approve' | 'refuse', description: string): Command {
  return byWhom(trust(name, description, `legate trust ${name} 01a1…`))
    .argument('<id>', 'as proposals shows it')
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
    .option('--json', 'one JSON object a line');
}

function byWhom(command: Command): Command {
  return command.option('--by <name>', 'who decides, for the audit log', 'cli');
}
