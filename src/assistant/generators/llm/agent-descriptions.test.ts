import { expect, test } from 'vitest';
import { scriptedModel } from '../../../models/index.ts';
import { Conversation } from '../../testing/conversation.ts';
import { project } from '../../testing/project.ts';
import { llmGenerator } from './llm-generator.ts';

test('the model reads what the sub agents of a flow do', async () => {
  const model = scriptedModel(['provide info']);
  const trip = project({
    flows: 'flows: {trip: {description: Plan a trip., steps: [{call: finder}]}}',
  });
  const chat = new Conversation(trip, {
    agentDescriptions: new Map([['finder', 'Finds a hotel.']]),
    generator: llmGenerator({ model }),
  });
  await chat.send({ text: 'hello' });
  expect(model.requests[0]?.promptText).toContain('- finder: Finds a hotel.');
});
