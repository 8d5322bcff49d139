import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import {
  invalidParams,
  type ListTasksRequest,
  type ListTasksResponse,
  type Task,
} from '../protocol/index.ts';
import type { TaskQuery, TaskRecord } from '../store/index.ts';
import { taskOf, withHistory } from './live-task.ts';
import type { EngineSettings } from './options.ts';

/** Status time and id of the last task of a page. */
const cursor = z.tuple([z.number(), z.string()]);

const defaultPageSize = 50;
const maxPageSize = 100;

/**
 * One page of an owner's tasks, latest status first. The cursor is the last task of the page. A task
 * whose status changes between pages moves to the front and can be missed, but new tasks cause no
 * duplicates.
 */
export async function listTasks(
  settings: EngineSettings,
  tokens: PageTokens,
  request: ListTasksRequest,
  owner: string,
): Promise<ListTasksResponse> {
  const pageSize = request.pageSize ?? defaultPageSize;
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > maxPageSize) {
    throw invalidParams({ field: 'pageSize', description: `must be 1 to ${maxPageSize}` });
  }
  const filters = {
    ...(request.contextId !== undefined && { contextId: request.contextId }),
    ...(request.status !== undefined &&
      request.status !== 'TASK_STATE_UNSPECIFIED' && { state: request.status }),
    ...(request.statusTimestampAfter !== undefined && {
      statusTimeFrom: Date.parse(request.statusTimestampAfter),
    }),
  };
  const scope = JSON.stringify([owner, filters]);
  const query: TaskQuery = {
    owner,
    ...filters,
    limit: pageSize,
    ...(request.pageToken !== undefined &&
      request.pageToken !== '' && { after: tokens.read(request.pageToken, scope) }),
  };
  const page = await settings.store.list(query);
  const last = page.records.at(-1);
  return {
    tasks: page.records.map((record) => listed(record, request)),
    nextPageToken: page.more && last !== undefined ? tokens.issue(last, scope) : '',
    pageSize,
    totalSize: page.total,
  };
}

function listed(record: TaskRecord, request: ListTasksRequest): Task {
  const task = withHistory(taskOf(record), request.historyLength).value;
  const { artifacts, ...rest } = task;
  return request.includeArtifacts === true ? { ...rest, artifacts: artifacts ?? [] } : rest;
}

export interface PageCursor {
  readonly statusTime: number;
  readonly id: string;
}

/**
 * Issues and reads page tokens. They are opaque, authenticated and bound to their owner and filters, so a
 * token can be neither forged nor used for another list.
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
    const [statusTime, id] = cursor.parse(JSON.parse(Buffer.from(payload, 'base64url').toString()));
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
