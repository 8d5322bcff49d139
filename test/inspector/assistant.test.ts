import { readFile } from 'node:fs/promises';
import { afterAll, expect, test } from 'vitest';
import { startScriptedModelServer } from '../../src/models/index.ts';
import { closeChromium } from '../support/chromium.ts';
import { bank, bankWithModel } from './bank.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

test(
  'the flow of a conversation is drawn with the path taken, at the latest or any earlier turn',
  patient,
  async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('send 50 euros to Anna');
    const diagram = page.locator('.diagram');
    await diagram.locator('.node.active').waitFor();
    expect(await diagram.locator('.node.active').getAttribute('data-step')).toContain(
      'transfer_confirmed',
    );
    expect(await diagram.locator('.edge.taken').count()).toBe(3);
    const flow = page.getByLabel('Flow', { exact: true }).locator('option').first();
    expect(await flow.textContent()).toBe('money transfer (active)');

    await page.getByRole('button', { name: 'Send it' }).click();
    await page.locator('.bubble').getByText('50 euros are on their way').waitFor();
    await expect.poll(() => diagram.locator('.edge.taken').count()).toBe(7);
    expect(await diagram.locator('.node.active').count()).toBe(0);
    expect(await flow.textContent()).toBe('money transfer (ended)');

    // Back to the first turn, and on again.
    await page.keyboard.press('Escape');
    await page.locator('h1').click();
    await page.keyboard.press('[');
    await diagram.locator('.node.active').waitFor();
    expect(await page.locator('.travel-turn strong').textContent()).toBe('Turn 1 of 2');
    await page.getByRole('button', { name: 'Latest turn' }).click();
    await expect.poll(() => diagram.locator('.node.active').count()).toBe(0);
  },
);

test('slots with their history, commands and events of a turn', async () => {
  await using server = await bank();
  await using open = await openPage(server.url);
  const { page } = open;
  await open.say('send 50 euros to Anna');
  await open.say('make it 70');
  await page.getByRole('tab', { name: 'Slots' }).click();
  const amount = page.getByRole('row', { name: /^amount/ });
  await expect.poll(() => amount.locator('td').first().textContent()).toBe('70');
  expect(await amount.locator('.history li').allTextContents()).toEqual([
    expect.stringMatching(/turn 1.*50.*matching/) as string,
    expect.stringMatching(/turn 2.*70/) as string,
  ]);
  await page.getByRole('tab', { name: 'Turn' }).click();
  expect(await page.locator('.commands').textContent()).toContain('correct slots');
  expect(await page.locator('.tracker-events').textContent()).toContain('make it 70');
  await page.getByRole('tab', { name: 'Flow' }).click();
  expect(await page.locator('.stack').textContent()).toContain('money transfer');
});

test('a conversation is saved as a test', async () => {
  await using server = await bank();
  await using open = await openPage(server.url);
  await open.say('send 50 euros to Anna');
  const waiting = open.page.waitForEvent('download');
  await open.page.getByRole('button', { name: 'Save as test' }).click();
  const file = await waiting;
  expect(file.suggestedFilename()).toBe('send_50_euros_to_anna.yml');
  const text = await readFile(await file.path(), 'utf8');
  expect(text).toContain('- user: send 50 euros to Anna');
  expect(text).toContain('- utter: utter_ask_transfer_confirmed');
});

test('messages of another channel appear in the page without a reload', async () => {
  await using server = await bank();
  await using open = await openPage(server.url);
  await open.say('send 50 euros to Anna');
  const context = await open.page.locator('.talk-context code').getAttribute('title');
  await server.conversations.say(context ?? '', 'make it 90', { channel: 'rest' });
  await expect
    .poll(() => open.page.locator('.travel-turn strong').textContent(), { timeout: 10_000 })
    .toBe('Turn 2 of 2');
});

test('a conversation is continued by its id, and its prompts, tokens and sub agents are shown', async () => {
  await using server = await bank();
  const prompts = [
    {
      component: 'CommandGenerator',
      model: 'small-1',
      prompt: 'You read messages.',
      answer: 'start flow transfer_money',
      usage: { input_tokens: 812, output_tokens: 9 },
    },
  ];
  await server.conversations.record('ada', [
    { event: 'user', text: 'find me a rate', parse_data: { commands: [], prompts } },
    { event: 'agent_started', agent_id: 'rate_finder', flow_id: 'loan' },
    { event: 'agent_completed', agent_id: 'rate_finder', flow_id: 'loan', status: 'completed' },
  ]);
  await using open = await openPage(server.url);
  const { page } = open;
  await page.getByRole('button', { name: /^Agent: / }).click();
  await page.getByLabel('Context to continue').fill('ada');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByRole('tab', { name: 'Turn' }).click();
  const call = page.locator('.model-call');
  await call.waitFor();
  expect(await call.locator('summary').textContent()).toMatch(
    /small-1 · 812 tokens in · 9 tokens out/,
  );
  await call.locator('summary').click();
  expect(await call.textContent()).toContain('You read messages.');
  await page.getByRole('tab', { name: 'Slots' }).click();
  expect(await page.locator('.sub-agents').textContent()).toContain('rate_findercompleted');
  await open.say('send 50 euros to Anna');
  expect(await server.conversations.tracker('ada')).toMatchObject({ slots: { amount: 50 } });
});

test('model calls are shown with prompt, answer and tokens', async () => {
  await using model = await startScriptedModelServer([
    { text: 'start flow transfer_money\nset slot amount 50', usage: { input: 1_812, output: 19 } },
    { error: { status: 400 } },
  ]);
  await using server = await bankWithModel(model.url);
  await using open = await openPage(server.url);
  const { page } = open;
  await open.say('send 50 euros');
  await page.getByRole('tab', { name: 'Turn' }).click();
  const call = page.locator('.model-call');
  await call.waitFor();
  expect(await call.locator('summary').textContent()).toMatch(
    /small-1 · 1812 tokens in · 19 tokens out · \d/,
  );
  await call.locator('summary').click();
  expect(await call.textContent()).toContain('The latest message: "send 50 euros"');
  expect(await call.textContent()).toContain('set slot amount 50');

  // A failed model call is marked.
  await open.say('hm');
  await expect.poll(() => call.locator('.badge.bad').count()).toBe(1);
});

test('model calls of a sub agent are shown with their turn', async () => {
  await using model = await startScriptedModelServer([
    'start flow plan_loan',
    { text: 'How much do you want to borrow?', usage: { input: 640, output: 8 } },
  ]);
  await using server = await bankWithModel(model.url);
  await using open = await openPage(server.url);
  const { page } = open;
  await open.say('I want a loan');
  await page.getByRole('tab', { name: 'Turn' }).click();
  const call = page.locator('.model-call', {
    has: page.getByText('loan_calculator', { exact: true }),
  });
  await call.waitFor();
  expect(await call.locator('summary').textContent()).toContain('640 tokens in · 8 tokens out');
  await call.locator('summary').click();
  expect(await call.textContent()).toContain('How much do you want to borrow?');
});

test(
  'sub agents: their states in a conversation, among peers, and in the network',
  patient,
  async () => {
    await using server = await bank();
    await using open = await openPage(server.url);
    const { page } = open;
    await open.say('I want a loan');
    await page.getByRole('tab', { name: 'Slots' }).click();
    const states = page.locator('.sub-agents');
    await expect.poll(() => states.textContent()).toContain('loan_calculatorwaiting for input');
    await open.say('12000');
    await open.say('24 months');
    await expect.poll(() => states.textContent()).toContain('loan_calculatorcompleted');

    await page.goto(`${server.url}/inspect/#/peers`);
    await page.locator('.peer-row', { hasText: 'loan_calculator' }).click();
    await page.locator('.card-head').getByText('Finds out what a loan would cost').waitFor();

    await page.goto(`${server.url}/inspect/#/network`);
    await expect.poll(() => page.locator('.net-node.sub-agent').count()).toBe(2);
    // Called once; the other one not yet.
    expect(await page.locator('.call.idle').count()).toBe(1);
    expect(await page.locator('.network .table').textContent()).toContain('loan_calculator1');
  },
);

test('beside two conversations, a panel keeps the number of the turn readable', async () => {
  await using server = await bank();
  await using open = await openPage(server.url, { viewport: { width: 1024, height: 768 } });
  const { page } = open;
  await page.getByRole('button', { name: 'New conversation' }).click();
  await expect.poll(() => page.locator('.composer-text').count()).toBe(2);
  await open.say('I want a loan');
  await page.locator('.talk-log').first().click();
  const turn = page.locator('.travel-turn strong');
  await expect.poll(() => turn.textContent()).toBe('Turn 1 of 1');
  expect(await turn.evaluate((text) => text.scrollWidth <= text.clientWidth)).toBe(true);
  await page.getByRole('button', { name: 'Save as test' }).waitFor();
});

test('the name of a call step is drawn as those of other steps', async () => {
  await using server = await bank();
  await using open = await openPage(server.url);
  await open.say('I want a loan');
  const title = open.page.locator('.node.call .node-title').first();
  await title.waitFor();
  expect(await title.evaluate((text) => getComputedStyle(text).stroke)).toBe('none');
});
