import { expect, test } from 'vitest';
import { Conversation } from '../testing/conversation.ts';
import { project } from '../testing/project.ts';
import type { AgentsView } from './generator.ts';

test('a generator knows what the sub agents of the project do', async () => {
  const seen: AgentsView[] = [];
  const chat = new Conversation(project({}), {
    agentDescriptions: new Map([['finder', 'Finds a hotel.']]),
    generator: {
      name: 'watching',
      generate: ({ agents }) => {
        seen.push(agents);
        return Promise.resolve([]);
      },
    },
  });
  await chat.send({ text: 'hello' });
  expect(seen).toEqual([
    { active: undefined, completed: [], descriptions: new Map([['finder', 'Finds a hotel.']]) },
  ]);
});
