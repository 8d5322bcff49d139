import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Options in code, by the file and the interface that describes them. */
const interfaces = [
  ['Where a server listens', 'src/http/http-server.ts', 'ListenOptions'],
  ['What a server shares among its agents', 'src/service/options.ts', 'SharedOptions'],
  ['What may differ from agent to agent', 'src/service/options.ts', 'AgentOptions'],
  ['How an agent is served over HTTP', 'src/http/options.ts', 'HttpOptions'],
  ['What agents share over HTTP', 'src/http/options.ts', 'HttpSharedOptions'],
  ['Turns and tasks', 'src/tasks/options.ts', 'EngineOptions'],
  ['Metrics for Prometheus', 'src/http/metrics-endpoint.ts', 'PrometheusOptions'],
  ['Telemetry', 'src/telemetry/telemetry.ts', 'TelemetryOptions'],
  ['where OTLP goes', 'src/telemetry/telemetry.ts', 'OtlpOptions'],
  ['Bounds of requests (`limits`)', 'src/service/service.ts', 'RequestLimits'],
  ['Bounds of request bodies (`limits`)', 'src/net/body.ts', 'BodyLimits'],
  ['Bounds of connections', 'src/http/http-server.ts', 'ConnectionLimits'],
  ['Certificates (`tls`)', 'src/service/tls.ts', 'TlsFiles'],
  ['What one caller may take (`callerLimits`)', 'src/auth/caller-limits.ts', 'CallerLimitsOptions'],
  ['Verifying tokens (`jwtVerifier`)', 'src/auth/jwt.ts', 'JwtVerifierOptions'],
  ['A call of a webhook (`push`)', 'src/push/delivery-sender.ts', 'DeliverySenderOptions'],
  ['All calls of webhooks (`push`)', 'src/push/outbox.ts', 'PushDispatcherOptions'],
  ['Agents made of a language model', 'src/agents/llm/options.ts', 'LlmAgentOptions'],
  ['Calling agents', 'src/client/options.ts', 'ClientOptions'],
  ['Calling agents, again (`retry`)', 'src/client/options.ts', 'RetryOptions'],
  ['Looking at tasks (`poll`)', 'src/client/options.ts', 'PollOptions'],
  ['Log lines (`createLogger`)', 'src/telemetry/logger.ts', 'LoggerOptions'],
] as const;

/** What servers fill in themselves. */
const filledIn: Readonly<Record<string, readonly string[]>> = {
  DeliverySenderOptions: ['store', 'taskAt', 'scheduler', 'traceparent'],
  PushDispatcherOptions: ['store', 'replica', 'scheduler', 'logger'],
};

const member = /(?:\/\*\*([\s\S]*?)\*\/\s*)?^ {2}(?:readonly )?(\w+)(\??): ([^;]+);/gm;

/** A table for each of the interfaces, from their comments. */
export function optionTables(): readonly string[] {
  return interfaces.map(([title, file, name]) => {
    const text = readFileSync(join(root, file), 'utf8');
    const body = new RegExp(`interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(text)?.[1];
    if (body === undefined) throw new Error(`there is no interface ${name} in ${file}`);
    const members = [...body.matchAll(member)].filter(
      ([, , key = '']) => filledIn[name]?.includes(key) !== true,
    );
    const rows = members.map(([, comment = '', key = '', isOptional]) => {
      const words = plain(comment).replace(/\s*@example.*$/, '');
      const [meaning = '', standard = isOptional === '?' ? '' : 'required'] =
        words.split(/\s*@default\s*/);
      return `| \`${key}\` | ${standard.trim()} | ${meaning.trim()} |`;
    });
    return [
      `## In code: ${title.charAt(0).toLowerCase()}${title.slice(1)} (\`${name}\`)`,
      ['| option | default | |', '|---|---|---|', ...rows].join('\n'),
    ].join('\n\n');
  });
}

/** A comment as one line of a table. */
export function plain(comment: string): string {
  return comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*\s?/, '').trim())
    .join(' ')
    .replaceAll('|', '\\|')
    .trim();
}
