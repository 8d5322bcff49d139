import { type LegateError, SseParser, type StreamResponse } from '../protocol/index.ts';
import { sequenceOf } from './delivery.ts';
import { type Http, type HttpRequest, unreachable } from './http.ts';
import { isTransient } from './retry.ts';
import type { Frame, TransportStream } from './transport.ts';

export function isEventStream(response: Response): boolean {
  return /^text\/event-stream\b/i.test(response.headers.get('Content-Type')?.trim() ?? '');
}

/** A stream of one event, for a peer that doesn't stream. */
export async function* singleFrame(response: StreamResponse): AsyncGenerator<Frame> {
  yield { response };
}

/**
 * Waits for the first frame. Peers can send an error as the first event (0.3 does); such a stream counts
 * as not opened. A connection that breaks counts as opened: reading it fails.
 */
export async function afterFirst(frames: AsyncGenerator<Frame>): Promise<AsyncIterable<Frame>> {
  let first: IteratorResult<Frame> | undefined;
  let failure: LegateError | undefined;
  try {
    first = await frames.next();
  } catch (error) {
    if (!isTransient(error)) throw error;
    failure = error;
  }
  return (async function* () {
    try {
      if (failure !== undefined) throw failure;
      if (first?.done === false) yield first.value;
      yield* frames;
    } finally {
      await frames.return(undefined);
    }
  })();
}

type Decode = (data: string, event: string) => Pick<Frame, 'response' | 'isFinal'>;

/**
 * Reads an event stream incrementally. Frames are read on demand, so a slow consumer applies
 * backpressure. Leaving the loop closes the connection.
 */
export async function* readFrames(
  response: Response,
  request: HttpRequest,
  http: Http,
  call: TransportStream,
  decode: Decode,
): AsyncGenerator<Frame> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  const parser = new SseParser({ maxEventBytes: http.maxEventSize });
  let previousId = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      call.onActivity?.();
      for (const { id, event, data } of parser.push(value)) {
        if (data === '') continue;
        // The parser repeats the last id for events without an id.
        const own = id === previousId ? {} : idOf(id);
        previousId = id;
        yield { ...decode(data, event), ...own };
      }
    }
  } catch (error) {
    throw unreachable(request, error);
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Ids are opaque; numeric ids can be compared. */
function idOf(id: string): Pick<Frame, 'id' | 'sequence'> {
  const sequence = sequenceOf(id);
  return sequence === undefined ? { id } : { id, sequence };
}
