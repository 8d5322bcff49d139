import { LegateError, sseComment, sseFrame } from '../../protocol/index.ts';
import { ownerKey } from '../../store/index.ts';
import type { ApiCall } from './api-call.ts';
import type { Inspection, Routes } from './inspection.ts';
import type { LiveNotice } from './model.ts';

const maxViewers = 50;
const maxContexts = 50;

/** Notices of what changed, as a stream. */
export const liveRoutes: Routes = [['GET', 'live', follow]];

async function follow(inspection: Inspection, call: ApiCall): Promise<void> {
  const { live, closing, agent } = inspection;
  const { response, query, limits } = call;
  if (live.viewers >= maxViewers) {
    throw new LegateError('RATE_LIMITED', `${maxViewers} pages follow already; close one`, {
      retryAfter: 30,
    });
  }
  const owner = ownerKey({ agent, tenant: '', subject: '' });
  const contexts = query
    .getAll('context')
    .slice(0, maxContexts)
    .map((id) => ({ owner, id }));
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-content-type-options': 'nosniff',
  });
  response.write(sseComment('following'));
  await new Promise<void>((resolve) => {
    const tell = (notice: LiveNotice): void => {
      // A page that does not read misses notices; it asks for everything when it comes back.
      if (!response.writableNeedDrain) response.write(sseFrame({ data: JSON.stringify(notice) }));
    };
    const leave = live.join({ contexts, tell });
    const keepAlive = setInterval(() => {
      if (!response.writableNeedDrain) response.write(sseComment('keep-alive'));
    }, limits.keepAliveMs).unref();
    const end = (): void => {
      clearInterval(keepAlive);
      closing.removeEventListener('abort', end);
      leave();
      response.end();
      resolve();
    };
    closing.addEventListener('abort', end, { once: true });
    response.once('close', end);
    if (closing.aborted) end();
  });
}
