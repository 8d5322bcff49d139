import { writeFileSync } from 'node:fs';
import { calling } from '../client/calling.ts';
import type { Session } from '../client/session.ts';
import type { CheckCommandOptions } from '../commands/agents.ts';
import { Progress } from '../progress.ts';
import { checkAgent } from './check-agent.ts';
import type { Finding, Report } from './finding.ts';
import { reportHtml } from './render-html.ts';
import { findingText, summaryText } from './render-text.ts';
import { runTck } from './tck.ts';
import { usage } from '../usage.ts';

/** Tests an agent and reports what passes and what fails. */
export async function check(
  agent: string | undefined,
  options: CheckCommandOptions,
): Promise<void> {
  await calling(options, agent, async (session) => {
    const reference = await session.resolve();
    if (reference.kind === 'file') throw usage('check calls the agent: give its URL');
    session.warnOfDanger();
    if (options.tck !== undefined) return checkByTck(session, reference.url, options.tck);
    const format = session.choices.isJson ? 'json' : options.format;
    const isLive = format === 'text' && options.report === undefined;
    using progress = new Progress('Checking the agent');
    const report = await checkAgent(reference.url, {
      fetch: session.fetch,
      timeoutMs: session.choices.timeoutMs ?? 15_000,
      headers: session.choices.serviceParameters,
      signal: session.signal,
      text: options.message,
      isReadOnly: options.readOnly === true,
      authFor: (card) => session.authFor(card),
      bindingsOf: (card) => session.bindingsOf(card),
      challengedAuth: () => session.challengedAuth(),
      now: Date.now(),
      onFinding: (finding) => {
        progress.say(`Trying ${finding.subject}`);
        if (isLive && isShown(finding, options)) console.log(findingText(finding, process.stdout));
      },
    });
    write(report, format, options);
    const { failed, warning } = report.counts;
    if (failed > 0 || (options.failOnWarnings === true && warning > 0)) process.exitCode = 1;
  });
}

/** Runs the compatibility kit of the A2A project instead, and passes its output through. */
async function checkByTck(session: Session, url: string, folder: string): Promise<void> {
  const { transports, isJson, bearer, apiKey } = session.choices;
  if (bearer !== undefined || apiKey !== undefined) {
    session.warn('the kit takes no credentials: it calls the agent without them');
  }
  const { signal } = session;
  const { suite, exit } = await runTck({ folder, url, transports, signal, isAside: isJson });
  if (isJson) console.log(JSON.stringify({ agent: url, suite, passed: exit === 0 }));
  if (exit !== 0) process.exitCode = 1;
}

function isShown({ outcome }: Finding, { all }: CheckCommandOptions): boolean {
  return all === true || outcome === 'failed' || outcome === 'warning';
}

function write(
  report: Report,
  format: 'text' | 'json' | 'html',
  options: CheckCommandOptions,
): void {
  if (options.report === undefined) {
    if (format === 'text') console.log(summaryText(report));
    else process.stdout.write(rendered(report, format, options));
    return;
  }
  writeFileSync(options.report, rendered(report, format, options));
  console.error(`written: ${options.report}`);
}

function rendered(
  report: Report,
  format: 'text' | 'json' | 'html',
  options: CheckCommandOptions,
): string {
  if (format === 'json') return `${JSON.stringify(report, undefined, 2)}\n`;
  if (format === 'html') return reportHtml(report);
  const shown = report.findings.filter((finding) => isShown(finding, options));
  const lines = shown.map((finding) => findingText(finding, process.stdout));
  return `${[...lines, summaryText(report)].join('\n')}\n`;
}
