import {
  invalidParams,
  type ListTasksRequest,
  type ListTasksResponse,
  type Task,
} from '../protocol/index.ts';
import type { TaskRecord, TaskQuery } from '../store/index.ts';
import { taskOf, withHistory } from './live-task.ts';
import type { EngineSettings } from './options.ts';
import type { PageTokens } from './page-token.ts';

const defaultPageSize = 50;
const maxPageSize = 100;

/**
 * One page of an owner's tasks, latest status first. The cursor is the last task of the page, so a
 * task whose status changes between pages moves to the front and may be missed, but none comes twice
 * on account of new ones.
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
