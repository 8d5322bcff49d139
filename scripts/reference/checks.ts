import { cachingChecks, cardChecks } from '../../src/cli/check/card-checks.ts';
import { errorChecks } from '../../src/cli/check/error-checks.ts';
import { operationChecks, streamChecks } from '../../src/cli/check/operation-checks.ts';
import { type Rules, rules } from '../../src/cli/check/rules.ts';
import { securityChecks } from '../../src/cli/check/security-checks.ts';

const introduction = `# Checks of \`legate check\`

\`legate check <agent>\` calls an agent over every interface of its card and compares what it sees with the
specification. A check **fails** only by a sentence that the edition of the interface demands; where the sentence
recommends, or where there is none and the check is a convention of the field, it **warns**. The exit code is 1 for
failures, and with \`--fail-on-warnings\` for warnings. Interfaces of 1.0 are checked by edition 1.0.1, those of 0.3
by 0.3.0. A check that has no rule in an edition is skipped there, or warns. A check is also skipped when the agent
declines its request: it asks for credentials, limits requests, requires an extension or accepts no texts.

## What official servers fail

Servers made with the official SDKs: for Python the agents of \`test/interop\`, which return what they get, for Go
those of the integration test kit, for JavaScript \`examples/conformance/js-sdk.ts\`. Every failure was compared with the sentence that its check quotes.

| server | failed checks |
|---|---|
| a2a-sdk 1.3.0 for Python | \`errors.version\` over gRPC: version 99.0 is served |
| a2a-sdk 0.3.26 for Python | \`errors.not-json-rpc\`: a request without \`jsonrpc\` is served; \`streaming.unknown-task\` over HTTP+JSON: 200 and a stream without an error |
| a2a-go 2.3.1 | \`errors.version\`: version 99.0 is served; \`streaming.terminal\`: TaskNotFoundError for a task that exists |
| a2a-go 0.3.15 | none |
| @a2a-js/sdk 1.3.0, 1.0 and 0.3 | \`errors.not-json-rpc\` in 1.0: -32602; \`errors.patch-version\`: 1.0.5 is refused |`;

/** The checks with the sentences of the specification that they are based on. */
export function checksPage(): string {
  const titles = new Map<string, string>([
    ['card.found', 'the card is at a well-known path'],
    ['card.valid', 'the card is what AgentCard of the proto accepts'],
    ...[cardChecks, cachingChecks, operationChecks, streamChecks, errorChecks, securityChecks]
      .flat()
      .map(({ id, title }) => [id, title] as const),
  ]);
  const entries = Object.entries<Rules>(rules).map(([id, editions]) => {
    const lines = Object.entries(editions).map(
      ([edition, { section, text, isMust = true }]) =>
        `- ${isMust ? 'fails' : 'warns'} by ${edition}, section ${section}: “${text}”`,
    );
    const basis = lines.length === 0 ? ['- warns: a convention'] : lines;
    return [`## ${id}`, `${capital(titles.get(id) ?? id)}.`, basis.join('\n')].join('\n\n');
  });
  return [introduction, ...entries].join('\n\n');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
