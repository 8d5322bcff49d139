import type { AuthSettings } from '../auth/index.ts';
import { quoted } from './client/choices.ts';

/** A command to paste into a terminal. */
export interface ExampleRequest {
  readonly title: string;
  readonly command: string;
}

/** The credentials that a server requires of its callers. */
export interface CallerAccess {
  /** `a2a_server.auth`. */
  readonly auth?: AuthSettings | undefined;
  /** `--auth-token`. */
  readonly token?: string | undefined;
  /** Whether the server requests client certificates. */
  readonly hasClientCertificates?: boolean;
  /** A certificate file that callers must trust, see `privateAuthority`. */
  readonly ca?: string | undefined;
}

/** The credentials of a call as flags of `legate` and of curl. Secrets are shell variables. */
function credentialFlags(access: CallerAccess): { readonly legate: string; readonly curl: string } {
  const { auth, token, hasClientCertificates = false, ca } = access;
  const isBearer = token !== undefined || auth?.jwt !== undefined;
  const isApiKey = !isBearer && auth?.apiKeysPath !== undefined;
  const hasOther = isBearer || isApiKey;
  const isCertificate = hasClientCertificates && (!hasOther || auth?.require?.includes('mtls'));
  const client = isCertificate === true ? ' --cert client.pem --key client.key' : '';
  const legate = ca === undefined ? client : ` --ca ${quoted(ca)}${client}`;
  const curl = ca === undefined ? client : ` --cacert ${quoted(ca)}${client}`;
  if (isBearer) {
    return {
      legate: ` --bearer "$TOKEN"${legate}`,
      curl: ` -H "Authorization: Bearer $TOKEN"${curl}`,
    };
  }
  return isApiKey
    ? {
        legate: ` --api-key "$API_KEY"${legate}`,
        curl: ` -H "X-Api-Key: $API_KEY"${curl}`,
      }
    : { legate, curl };
}

/** One command for each way to call a server, the shortest first. */
export function exampleRequests(
  url: string,
  options: {
    /** The text of the message. */
    readonly text: string;
    /** Whether the server supports A2A. */
    readonly hasCard: boolean;
    /** Whether the server has the REST channel. */
    readonly hasChannel: boolean;
    /** @default no credentials */
    readonly access?: CallerAccess;
  },
): readonly [ExampleRequest, ...ExampleRequest[]] {
  const { text, hasCard, hasChannel, access = {} } = options;
  const { legate, curl } = credentialFlags(access);
  const post = (path: string, body: object, headers = ''): string =>
    `curl -sN ${url}${path} -H 'Content-Type: application/json'${headers}${curl} -d ${quoted(JSON.stringify(body))}`;
  const chat = {
    title: 'REST channel, as a chat widget calls it',
    command: post('/webhooks/rest/webhook', { sender: 'me', message: text }),
  };
  if (!hasCard) return [chat];
  // Servers deduplicate messages of one caller by their id.
  const message = (messageId: string): object => ({
    messageId,
    role: 'ROLE_USER',
    parts: [{ text }],
  });
  const version = " -H 'A2A-Version: 1.0'";
  const rpc = (method: string, messageId: string): string =>
    post('/', { jsonrpc: '2.0', id: 1, method, params: { message: message(messageId) } }, version);
  return [
    {
      title: 'A2A, from the command line',
      command: `npx legate send ${url} ${words(text)}${legate}`,
    },
    { title: 'A chat in the terminal', command: `npx legate shell ${url}${legate}` },
    { title: 'A2A over JSON-RPC', command: rpc('SendMessage', 'm-1') },
    { title: 'A2A over JSON-RPC, as a stream', command: rpc('SendStreamingMessage', 'm-2') },
    {
      title: 'A2A over REST',
      command: post('/message:send', { message: message('m-3') }, version),
    },
    { title: 'Agent card', command: `curl -s ${url}/.well-known/agent-card.json${curl}` },
    ...(hasChannel ? [chat] : []),
  ];
}

/** Uses double quotes for plain text, as users would write. */
function words(text: string): string {
  return /^[\w\s.,?'-]*$/.test(text) ? `"${text}"` : quoted(text);
}
