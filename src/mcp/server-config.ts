import type { Logger } from '../telemetry/index.ts';
import type { Authentication } from './authentication.ts';

interface McpServerBase {
  /** The name of the server in errors, logs and prefixes. */
  readonly name: string;
  /** Timeout of a connection attempt, in milliseconds. @default 10_000 */
  readonly connectTimeoutMs?: number;
  /** Retries of a failed connection attempt. @default 3 */
  readonly maxRetries?: number;
  /** Timeout of a tool call, in milliseconds. @default 60_000 */
  readonly callTimeoutMs?: number;
  /** Timeouts of individual tools, in milliseconds, by tool name. */
  readonly toolTimeouts?: Readonly<Record<string, number>>;
  /** How long the list of tools is cached, in milliseconds. @default 60_000 */
  readonly listTtlMs?: number;
  /** Maximum number of tools; a server with more is rejected. @default 512 */
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

/** A server that runs as a child process, connected by standard input and output. */
export interface McpStdioServer extends McpServerBase {
  /** The program to start. */
  readonly command: string;
  /** Arguments of the program. */
  readonly args?: readonly string[];
  /**
   * The environment of the program. It gets these variables and a few harmless inherited ones, no
   * others.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory of the program. */
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
