import type { Logger } from '../telemetry/index.ts';
import type { Authentication } from './authentication.ts';

interface McpServerBase {
  /** For messages to people, and for prefixes. */
  readonly name: string;
  /** Milliseconds for making a connection. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** Attempts after the first to make a connection. @default 3 */
  readonly maxRetries?: number;
  /** Milliseconds for a call of a tool. @default 60_000 */
  readonly callTimeoutMs?: number;
  /** Milliseconds for calls of single tools, by their names. */
  readonly toolTimeouts?: Readonly<Record<string, number>>;
  /** How long the list of tools is taken for current, in milliseconds. @default 60_000 */
  readonly listTtlMs?: number;
  /** Most tools that are taken from the server. @default 512 */
  readonly maxTools?: number;
  /** Where log lines go. */
  readonly logger?: Logger;
}

/** A server at a URL (streamable HTTP). */
export interface McpHttpServer extends McpServerBase {
  /** The address of a server over HTTP. */
  readonly url: string;
  /** Sent over https and to loopback only. */
  readonly auth?: Authentication | undefined;
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Makes the requests. @default globalThis.fetch */
  readonly fetch?: typeof globalThis.fetch;
}

/** A server that is a program, connected by its standard input and output. */
export interface McpStdioServer extends McpServerBase {
  /** The program of a server over standard input and output. */
  readonly command: string;
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /** Beside a few harmless variables, the program sees these only. */
  readonly env?: Readonly<Record<string, string>>;
  /** The directory that the program runs in. */
  readonly cwd?: string;
}

export type McpServerConfig = McpHttpServer | McpStdioServer;

type AnyServer = McpHttpServer & McpStdioServer;

/** The names of all options of a server. */
export const serverOptionNames: Readonly<Record<keyof AnyServer, true>> = {
  name: true,
  connectTimeoutMs: true,
  maxRetries: true,
  callTimeoutMs: true,
  toolTimeouts: true,
  listTtlMs: true,
  maxTools: true,
  logger: true,
  url: true,
  auth: true,
  headers: true,
  fetch: true,
  command: true,
  args: true,
  env: true,
  cwd: true,
};
