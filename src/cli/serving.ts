import type { Agent } from '../agents/index.ts';
import { Authenticator, bearerTokenVerifier, isLoopbackHost } from '../auth/index.ts';
import { present } from '../config/index.ts';
import { type InspectorOptions, serve, type ServeOptions } from '../http/index.ts';
import type { Store, StoreOptions } from '../store/index.ts';
import type { RunCommandOptions } from './commands/assistants.ts';
import { packageVersion } from './commands/version.ts';
import { openPage } from './open-page.ts';
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
 * Refuses what `checkBind` would refuse, before anything starts, and names flags of the command line
 * instead of options in code.
 */
export function checkListenFlags(flags: ListenFlags, isAuthenticated: boolean): void {
  const { interface: host, dangerouslyAllowUnauthenticatedRemote = false } = flags;
  if (isAuthenticated || dangerouslyAllowUnauthenticatedRemote || isLoopbackHost(host)) return;
  throw usage(
    `refusing to listen on ${host} without authentication: set --auth-token, listen on 127.0.0.1, ` +
      'or allow it with --dangerously-allow-unauthenticated-remote',
  );
}

/** The inspector may call other agents, too: it is for the operator who runs the command. */
export function inspectorOptions({
  inspectToken: token,
}: Pick<RunCommandOptions, 'inspectToken'>): InspectorOptions {
  return { proxy: true, version: packageVersion(), ...present({ token }) };
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
  /** One command to paste. */
  readonly command: string;
}

/** Serves an agent; with a token, only to callers who send it. */
export async function serveAgent(
  agent: Agent,
  { token, ...options }: ServeOptions & { readonly store: StoreOptions; readonly token?: string },
): Promise<Started> {
  const tokens = [{ token: token ?? '', subject: 'operator', scopes: ['inspect'] }];
  const serving = await serve(agent, {
    ...options,
    ...(token !== undefined && {
      auth: new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] }),
    }),
  });
  const { url, inspectorUrl } = serving;
  return {
    what: `the agent "${agent.name}"`,
    url,
    inspectorUrl,
    hasCard: true,
    store: options.store,
    command: `npx legate send ${url} "hello"`,
    [Symbol.asyncDispose]: () => serving.close(),
  };
}

/** Prints the URL of the server, and waits until the process is stopped. The only code that prints the link to the inspector. */
export async function greetUntilSignal(started: Started, { open = false } = {}): Promise<void> {
  const { what, url, inspectorUrl, hasCard, store, command } = started;
  console.log(
    [
      `Serving ${what} at ${url}`,
      '',
      ...(inspectorUrl === undefined ? [] : [`Inspector:   ${inspectorUrl}`]),
      ...(hasCard ? [`Agent card:  ${url}/.well-known/agent-card.json`] : []),
      `Data:        ${placeOf(store)}`,
      '',
      'Try it:',
      `  ${command}`,
      '',
      'Stop: Ctrl+C',
    ].join('\n'),
  );
  if (open && inspectorUrl !== undefined) openPage(inspectorUrl);
  await untilSignal();
}

/** The location of the store, for people; without passwords of database URLs. */
function placeOf(store: StoreOptions | Store): string {
  if (!('type' in store)) return 'a custom store';
  if (store.type === 'sqlite') return store.path;
  return store.type === 'memory' ? 'in memory, lost when the server stops' : 'PostgreSQL';
}
