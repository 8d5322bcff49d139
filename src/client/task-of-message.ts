import type { Message, Task } from '../protocol/index.ts';
import type { Peer } from './peer.ts';
import type { TransportCall } from './transport.ts';

/** The newest tasks, which those of a message just sent are among. */
const mostPages = 3;
const pageSize = 20;
const historyLength = 20;

/** The task that has a message in its history, among the newest that the peer lists for us. */
export async function taskOfMessage(
  peer: Peer,
  { messageId, contextId }: Pick<Message, 'messageId' | 'contextId'>,
  call: TransportCall,
): Promise<Task | undefined> {
  let pageToken: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const { tasks, nextPageToken } = await peer.call(
      'listTasks',
      {
        pageSize,
        historyLength,
        ...(contextId !== undefined && { contextId }),
        ...(pageToken !== undefined && { pageToken }),
      },
      call,
    );
    const task = tasks.find(({ history = [] }) =>
      history.some((message) => message.messageId === messageId),
    );
    if (task !== undefined || nextPageToken === '') return task;
    pageToken = nextPageToken;
  }
  return undefined;
}
