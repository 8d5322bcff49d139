import { createHmac, timingSafeEqual } from 'node:crypto';
import { invalidParams } from '../protocol/index.ts';

export interface PageCursor {
  readonly statusTime: number;
  readonly id: string;
}

/**
 * Page tokens are opaque, authenticated and bound to the owner and the filters they were made for,
 * so a token can be neither forged nor used to look into another list.
 */
export class PageTokens {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  issue(cursor: PageCursor, scope: string): string {
    const payload = Buffer.from(JSON.stringify([cursor.statusTime, cursor.id])).toString(
      'base64url',
    );
    return `${payload}.${this.#sign(payload, scope)}`;
  }

  read(token: string, scope: string): PageCursor {
    const [payload = '', signature = '', ...rest] = token.split('.');
    const expected = Buffer.from(this.#sign(payload, scope));
    const given = Buffer.from(signature);
    if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw invalidParams({
        field: 'pageToken',
        description: 'is not a token of this list; start again without one',
      });
    }
    const [statusTime, id] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
      number,
      string,
    ];
    return { statusTime, id };
  }

  #sign(payload: string, scope: string): string {
    return createHmac('sha256', this.#key)
      .update(scope)
      .update('\n')
      .update(payload)
      .digest('base64url');
  }
}
