import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  agent,
  chunk,
  completed,
  inputRequired,
  rejected,
  reply,
  textOf,
  working,
} from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import type { Transport } from '../../src/client/transport.ts';
import { type GrpcServer, serveGrpc } from '../../src/grpc/index.ts';
import { serve, type ServeOptions, type Serving } from '../../src/http/index.ts';
import { type AgentCard, artifact } from '../../src/protocol/index.ts';
import { type Binding, bindings, transportOf } from './transports.ts';

/** Does what the first word of a message says. */
const actor = agent(
  { name: 'actor', skills: ['act'], replies: 'message', inputModes: ['text/plain'] },
  async function* (turn) {
    const [word] = textOf(turn.message).split(' ');
    switch (word) {
      case 'reply':
        yield reply([{ text: 'hello' }, { data: { polite: true } }], { tone: 'kind' });
        return;
      case 'ask':
        yield inputRequired('what?');
        return;
      case 'hold':
        yield working('holding');
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve));
        return;
      case 'refuse':
        yield rejected('no');
        return;
      case 'chunks':
        yield working();
        yield chunk('story', 'once ', { name: 'story', metadata: { chapter: 1 } });
        yield chunk('story', 'upon', { append: true });
        yield chunk('story', ' a time', { append: true, last: true });
        yield completed('told');
        return;
      default:
        yield working('on it', { step: 1 });
        yield artifact(
          [
            { text: 'äöü 🎈', metadata: { language: 'de' } },
            { raw: Buffer.from([0, 255, 128]).toString('base64'), filename: 'a.bin' },
            { raw: '', mediaType: 'application/octet-stream' },
            { url: 'https://example.com/a.png', mediaType: 'image/png', filename: 'a.png' },
            { data: { nested: [1, -0.5, 'x', null, { deep: true }], empty: {} } },
            { data: 7 },
            { data: null },
          ],
          { name: 'everything', description: 'of each kind', metadata: { a: { b: [1] } } },
        );
        yield completed('done');
    }
  },
);

/** One server with all its transports, and a client of each. */
export class TestServer implements AsyncDisposable {
  readonly serving: Serving;
  readonly #grpcServer: GrpcServer;
  readonly #transports: ReadonlyMap<string, Transport & Disposable>;

  private constructor(
    serving: Serving,
    grpcServer: GrpcServer,
    transports: ReadonlyMap<string, Transport & Disposable>,
  ) {
    this.serving = serving;
    this.#grpcServer = grpcServer;
    this.#transports = transports;
  }

  static async start(kind: ServerKind): Promise<TestServer> {
    const serving = await serve(actor, { ...kinds[kind](), drainMs: 0 });
    const grpcServer = await serveGrpc(serving.router);
    const { supportedInterfaces } = serving.router.cards.current;
    const transports = new Map<string, Transport & Disposable>();
    for (const { name, protocolBinding, version } of bindings) {
      // Each is found in the card, so the card is proved along the way.
      const offered = supportedInterfaces.find(
        (each) => each.protocolBinding === protocolBinding && each.protocolVersion === version,
      );
      if (offered === undefined) throw new Error(`the card does not list ${name}`);
      transports.set(name, transportOf(offered));
    }
    return new TestServer(serving, grpcServer, transports);
  }

  through({ name }: Binding): Transport {
    const transport = this.#transports.get(name);
    if (transport === undefined) throw new Error(`no way through ${name}`);
    return transport;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const transport of this.#transports.values()) transport[Symbol.dispose]();
    await this.#grpcServer.close({ graceMs: 0 });
    await this.serving.close();
  }
}

const extended: AgentCard = {
  name: 'actor, for friends',
  description: 'knows more',
  version: '2.0.0',
  supportedInterfaces: [
    { url: 'https://example.com', protocolBinding: 'JSONRPC', protocolVersion: '0.3' },
    { url: 'example.com:443', protocolBinding: 'GRPC', protocolVersion: '0.3' },
  ],
  provider: { url: 'https://example.com', organization: 'Example' },
  documentationUrl: 'https://example.com/docs',
  capabilities: {
    streaming: true,
    pushNotifications: false,
    extensions: [{ uri: 'https://example.com/e', required: false, params: { a: [1] } }],
    extendedAgentCard: true,
  },
  securitySchemes: {
    key: { apiKeySecurityScheme: { location: 'header', name: 'x-key' } },
    login: {
      oauth2SecurityScheme: {
        flows: {
          clientCredentials: { tokenUrl: 'https://example.com/token', scopes: { act: 'to act' } },
        },
      },
    },
  },
  securityRequirements: [
    { schemes: { login: { list: ['act'] } } },
    { schemes: { key: { list: [] } } },
  ],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [
    {
      id: 'act',
      name: 'act',
      description: 'acts',
      tags: ['stage'],
      examples: ['reply'],
      securityRequirements: [{ schemes: { login: { list: ['act'] } } }],
    },
  ],
};

export const requiredExtension = 'https://example.com/required';

/** The kinds of servers that the matrix asks. */
const kinds = {
  /** Everything is on; only the extended card needs a token. */
  full: (): ServeOptions => ({
    push: {},
    extendedCard: () => extended,
    auth: new Authenticator({
      verifiers: [bearerTokenVerifier({ tokens: [{ token: 'ann', subject: 'ann' }] })],
      allowAnonymous: true,
    }),
  }),
  /** What can be left out is left out. */
  bare: (): ServeOptions => ({ streaming: false }),
  /** An extended card is promised and not there. */
  forgetful: (): ServeOptions => ({ card: { capabilities: { extendedAgentCard: true } } }),
  demanding: (): ServeOptions => ({
    card: { capabilities: { extensions: [{ uri: requiredExtension, required: true }] } },
  }),
  /** Callers need a token, and for the skill a scope. */
  guarded: (): ServeOptions => ({
    push: {},
    extendedCard: () => extended,
    auth: new Authenticator({
      verifiers: [
        bearerTokenVerifier({
          tokens: [
            { token: 'ann', subject: 'ann', scopes: ['act'] },
            { token: 'bob', subject: 'bob', scopes: ['act'] },
            { token: 'guest', subject: 'guest' },
          ],
        }),
      ],
    }),
    skillScopes: { act: ['act'] },
  }),
  busy: (): ServeOptions => ({ callerLimits: { concurrentRequests: 1, openStreams: 1 } }),
} as const;

export type ServerKind = keyof typeof kinds;
export const serverKinds = Object.keys(kinds) as readonly ServerKind[];

/** A place for webhooks, which takes whatever comes. */
export async function openReceiver(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer((_request, response) => void response.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
