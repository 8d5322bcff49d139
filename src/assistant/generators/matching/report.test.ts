import { expect, test } from 'vitest';
import { Conversation } from '../../testing/conversation.ts';
import { project } from '../../testing/project.ts';
import { matchingGenerator } from './matching-generator.ts';
import { matchingReport, reportText } from './report.ts';

const shop = project({
  flows: `flows:
  hats: {name: hats, description: Buy a hat., examples: [I want a hat, my head is cold], steps: [{action: utter_a}]}
  caps: {name: caps, description: Buy a cap., examples: [I want a cap, cover my head], steps: [{action: utter_a}]}
  bags: {name: bags, description: Buy a bag., steps: [{action: utter_a}]}
`,
  domain: 'responses: {utter_a: [{text: "Here."}]}',
});

test('the report has flows without examples, and examples that others do not support', () => {
  const report = matchingReport(shop.flows, shop.domain);
  expect(report.withoutExamples).toEqual(['bags']);
  expect(report.tried).toBe(4);
  // Without "my head is cold" the other flow has the only head.
  expect(report.confused).toContainEqual({
    flow: 'hats',
    example: 'my head is cold',
    started: 'caps',
  });
  expect(reportText(report)).toContain('hats -> caps: "my head is cold"');
});

test('the table of confusions counts every example once', () => {
  const report = matchingReport(shop.flows, shop.domain);
  const counts = [...report.confusions.values()].flatMap((outcomes) => [...outcomes.values()]);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(report.tried);
  expect(report.confusions.get('hats')?.get('caps')).toBe(1);
  const right = [...report.confusions].map(([flow, outcomes]) => outcomes.get(flow) ?? 0);
  expect(right.reduce((sum, count) => sum + count, 0)).toBe(report.right);
  expect(reportText(report)).toMatch(/1 hats +\d/);
});

test('the log has the candidates of a message, and why each won or lost', async () => {
  const chat = new Conversation(shop, { generator: matchingGenerator() });
  await chat.send({ text: 'I want a hat' });
  const user = chat.log.find(({ event }) => event === 'user');
  expect(user?.['parse_data']).toMatchObject({
    candidates: [
      {
        flow: 'hats',
        outcome: 'started',
        why: 'Explains 100 % of the message, nearest to "I want a hat".',
      },
    ],
  });
});
