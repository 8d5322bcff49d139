import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Agent,
  agent,
  chunk,
  completed,
  failed,
  inputRequired,
  textOf,
  type Turn,
  type TurnEvent,
  working,
} from '../../../agents/index.ts';
import { artifact, data, file } from '../../../protocol/index.ts';
import { serve, type ServeOptions, type Serving } from '../../serve.ts';
import type { InspectorOptions } from '../options.ts';

const form = {
  type: 'object',
  title: 'Reservation',
  properties: {
    guests: { type: 'integer', title: 'Guests', description: 'how many of you there are' },
    day: { type: 'string', format: 'date', title: 'Day' },
    place: { type: 'string', title: 'Place', enum: ['inside', 'terrace'] },
  },
  required: ['guests'],
};

const report = `# Weekly report

Sales are **up** by *12 %*; see [the figures](https://example.com/figures).

| day | orders |
|---|---|
| Monday | 12 |
| Tuesday | 17 |

1. Order more flour
2. Call the \`baker\`

\`\`\`sql
SELECT day, count(*) FROM orders GROUP BY day
\`\`\`

<img src="https://example.com/spy.png" onerror="alert(1)"> [not a link](javascript:alert(1))`;

/** A red dot, as small as a picture can be. */
const picture = Uint8Array.from(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mP8z8BQz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC',
    'base64',
  ),
);

async function* take(turn: Turn): AsyncGenerator<TurnEvent> {
  const [word = '', argument = '', perSecond] = textOf(turn.message).split(' ');
  switch (word) {
    case 'stream':
      for (let index = 1; index <= Number(argument); index += 1) {
        yield chunk('story', `word ${index} `, { append: index > 1, name: 'story' });
        if (perSecond !== undefined && index % (Number(perSecond) / 100) === 0) await sleep(10);
      }
      return;
    case 'wait':
      yield working('Waiting to be told');
      await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()));
      return;
    case 'form':
      yield inputRequired([{ text: 'Tell me more about your visit.' }, data({ form })]);
      return;
    case 'report':
      yield artifact(report, { name: 'report' });
      return;
    case 'picture':
      yield artifact([file({ bytes: picture, filename: 'dot.png', mediaType: 'image/png' })]);
      return;
    case 'fail':
      yield failed('The oven is cold.');
      return;
    default: {
      const given = turn.message.parts.find((part) => part.data !== undefined)?.data;
      yield completed(
        given === undefined ? `You said: ${word}` : `Booked: ${JSON.stringify(given)}`,
      );
    }
  }
}

/** Does what the first word of a message says. */
export const bakery: Agent = agent(
  {
    name: 'bakery',
    description: 'Bakes, reports and books tables.',
    skills: [
      {
        id: 'bake',
        name: 'Baking',
        description: 'Bakes bread.',
        tags: ['bread'],
        examples: ['report', 'form'],
      },
    ],
  },
  take,
);

/** The token of inspectors in tests, so that pages can be opened by the address of their server. */
export const inspectorToken = 'the-token-of-the-inspector-in-tests';

/** A server with an inspector. */
export interface InspectedServer extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  readonly serving: Serving;
  /** The link with the token. */
  readonly link: string;
  /** As the operator, by the token, unless the request has a credential of its own. */
  api(path: string, init?: RequestInit): Promise<Response>;
  get<T>(path: string): Promise<T>;
}

export async function inspectedServer(
  options: ServeOptions = {},
  inspector: InspectorOptions = {},
): Promise<InspectedServer> {
  const inspect = { token: inspectorToken, ...inspector };
  const serving = await serve(bakery, { drainMs: 0, ...options, inspect });
  const url = `http://localhost:${serving.port}`;
  const api = (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (!headers.has('authorization')) headers.set('authorization', `Bearer ${inspectorToken}`);
    return fetch(`${url}/inspect/api/${path}`, { ...init, headers });
  };
  return {
    url,
    serving,
    link: serving.inspectorUrl ?? '',
    api,
    get: async <T>(path: string) => (await (await api(path)).json()) as T,
    [Symbol.asyncDispose]: () => serving.close(),
  };
}
