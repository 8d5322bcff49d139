import type { Agent } from '../agents/index.ts';
import { type AuthSettings, bearerTokenVerifier, isLoopbackHost, openAuth } from '../auth/index.ts';
import { present } from '../config/index.ts';
import { type InspectorOptions, serve, type ServeOptions } from '../http/index.ts';
import type { Store, StoreOptions } from '../store/index.ts';
import type { Engine } from '../tasks/index.ts';
import { defaultLogger } from '../telemetry/index.ts';
import type { RunCommandOptions } from './commands/assistants.ts';
import { packageVersion } from './commands/version.ts';
import { type ExampleRequest, exampleRequests } from './example-requests.ts';
import { openPage } from './open-page.ts';
import { privateAuthority } from './private-ca.ts';
import { untilSignal } from './signals.ts';
import { usage } from './usage.ts';

/** The options of a command that listens. */
export type ListenFlags = Pick<
  RunCommandOptions,
  | 'port'
  | 'interface'
  | 'cors'
  | 'sslCertificate'
  | 'sslKeyfile'
  | 'sslCaFile'
  | 'sslPassword'
  | 'dangerouslyAllowUnauthenticatedRemote'
>;

/** The options for `serve`. */
export function listenOptions(flags: ListenFlags) {
  const { sslCertificate: certificate, sslKeyfile: key, sslCaFile: ca, sslPassword } = flags;
  if ((certificate === undefined) !== (key === undefined)) {
    throw usage('HTTPS needs both --ssl-certificate and --ssl-keyfile');
  }
  return {
    port: flags.port,
    host: flags.interface,
    cors: flags.cors ?? [],
    dangerouslyAllowUnauthenticatedRemote: flags.dangerouslyAllowUnauthenticatedRemote === true,
    ...(certificate !== undefined &&
      key !== undefined && {
        tls: { certificate, key, ...present({ ca, password: sslPassword }) },
      }),
  };
}

/**
 * Makes the check of `checkBind` before the start. The error names flags of the command line instead of
 * options in code.
 */
export function checkListenFlags(
  flags: Pick<ListenFlags, 'interface' | 'dangerouslyAllowUnauthenticatedRemote'>,
  isAuthenticated: boolean,
  /** How to authenticate callers, if the command can. */
  toAuthenticate = 'set --auth-token, ',
): void {
  const { interface: host, dangerouslyAllowUnauthenticatedRemote = false } = flags;
  if (isAuthenticated || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw usage(
    `refusing to listen on ${host} without authentication: ${toAuthenticate}listen on 127.0.0.1, ` +
      'or allow it with --dangerously-allow-unauthenticated-remote',
  );
}

/** Allows the inspector to call other agents: its user is the operator who runs the command. */
export function inspectorOptions({
  inspectToken: token,
}: Pick<RunCommandOptions, 'inspectToken'>): InspectorOptions {
  return {
    proxy: true,
    version: packageVersion(),
    bindings: async () => [(await import('../grpc/index.ts')).grpcBinding()],
    ...present({ token }),
  };
}

/** A running server. */
export interface Started extends AsyncDisposable {
  /** @example 'the assistant "bank"' */
  readonly what: string;
  readonly url: string;
  /** The link to the inspector, if it is served. */
  readonly inspectorUrl: string | undefined;
  readonly hasCard: boolean;
  readonly store: StoreOptions | Store;
  /** Example commands; the greeting shows the first. */
  readonly requests: readonly [ExampleRequest, ...ExampleRequest[]];
  /** Files that need a restart when they change. */
  readonly configuration?: readonly string[];
}

const a2aOnly = { hasCard: true, hasChannel: false };

interface ServeAgentOptions extends Omit<ServeOptions, 'auth'> {
  readonly store: StoreOptions | Store;
  readonly token?: string;
  /** `a2a_server.auth` of endpoints.yml. */
  readonly auth?: AuthSettings;
  /** The folder of the files of `auth`. @default '.' */
  readonly directory?: string;
  /** The file of the configuration. */
  readonly configuration?: readonly string[];
}

/** Serves an agent; with a token or `auth`, only to authenticated callers. */
export async function serveAgent(
  agent: Agent,
  { token, auth: settings, directory = '.', configuration = [], ...options }: ServeAgentOptions,
): Promise<Started & { readonly engine: Engine }> {
  const tokens = [{ token: token ?? '', subject: 'operator', scopes: ['inspect'] }];
  const auth = await openAuth(settings, {
    directory,
    hasClientCertificates: options.tls?.ca !== undefined,
    more: token === undefined ? [] : [bearerTokenVerifier({ tokens })],
    logger: options.logger ?? defaultLogger,
  });
  const serving = await serve(agent, { ...options, ...(auth !== undefined && { auth }) });
  const { url, inspectorUrl } = serving;
  return {
    what: `the agent "${agent.name}"`,
    url,
    inspectorUrl,
    hasCard: true,
    store: options.store,
    engine: serving.router.engine,
    requests: exampleRequests(url, {
      text: agent.skills[0]?.examples?.[0] ?? 'hello',
      ...a2aOnly,
      access: {
        auth: settings,
        token,
        hasClientCertificates: options.tls?.ca !== undefined,
        ca: privateAuthority(options.tls?.certificate),
      },
    }),
    configuration,
    [Symbol.asyncDispose]: () => serving.close(),
  };
}

/** Prints the URL of the server and the link to the inspector, and waits until the process is stopped. */
export async function greetUntilSignal(
  started: Started,
  { open = false, examples = false } = {},
): Promise<void> {
  const { what, url, inspectorUrl, hasCard, store, requests } = started;
  const shown = requests.map(({ title, command }) => `\n  # ${title}\n  ${command}`);
  console.log(
    [
      `Serving ${what} at ${url}`,
      '',
      ...(inspectorUrl === undefined ? [] : [`Inspector:   ${inspectorUrl}`]),
      ...(hasCard ? [`Agent card:  ${url}/.well-known/agent-card.json`] : []),
      `Data:        ${placeOf(store)}`,
      '',
      `Try it:      ${requests[0].command}`,
      ...(examples ? shown : []),
      '',
      'Stop: Ctrl+C',
    ].join('\n'),
  );
  if (open && inspectorUrl !== undefined) openPage(inspectorUrl);
  await untilSignal(started.configuration);
}

/** The location of the store as shown to users, without database URLs, which can contain passwords. */
function placeOf(store: StoreOptions | Store): string {
  if (!('type' in store)) return 'a custom store';
  if (store.type === 'sqlite') return store.path;
  return store.type === 'memory' ? 'in memory, lost when the server stops' : 'PostgreSQL';
}
