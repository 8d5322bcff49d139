import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { PlainHead } from './plain-head.ts';

/** A request of the usual shape that came whole. */
export class PlainRequest {
  readonly method: string;
  /** Whoever passes the request on may shorten it. */
  url: string;
  readonly headers: IncomingHttpHeaders;
  readonly httpVersion = '1.1';
  readonly complete = true;
  readonly socket: Socket;
  readonly body: Buffer;

  constructor({ method, url, headers }: PlainHead, body: Buffer, socket: Socket) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.body = body;
    this.socket = socket;
  }
}
