import { afterAll, expect, test } from 'vitest';
import { turnNumbers } from '../../inspector/src/steps/turn-numbers.ts';
import { agentTool, llmAgent, remoteAgent, tool } from '../../src/agents/index.ts';
import { serve } from '../../src/http/index.ts';
import { inspectorToken } from '../../src/http/inspector/testing/inspected-server.ts';
import { scriptedModel } from '../../src/models/index.ts';
import { openStore } from '../../src/store/index.ts';
import { closeChromium } from '../support/chromium.ts';
import { violations } from './legibility.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

const calls = (name: string, input: object) => ({
  toolCalls: [{ name, input: input as never, id: `call_${name}` }],
});

test(
  'the steps of an agent show prompt, model, tokens, tools, sub agents and pauses, live',
  patient,
  async () => {
    const released = Promise.withResolvers<void>();
    const weather = tool({
      name: 'weather',
      description: 'Says the weather.',
      run: async () => {
        await released.promise;
        return { sky: 'rain' };
      },
    });
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      needsConfirmation: true,
      run: () => 'paid',
    });
    const travel = llmAgent({
      name: 'travel',
      description: 'Books trips.',
      model: scriptedModel(['Booked.']),
    });
    const model = scriptedModel([
      { ...calls('weather', { city: 'Bern' }), usage: { input: 30, output: 5 } },
      calls('travel', { request: 'a trip' }),
      calls('pay', { amount: 5 }),
      'All is paid.',
    ]);
    const agent = llmAgent({
      name: 'clerk',
      model,
      instruction: 'Be brief.',
      tools: [weather, agentTool(travel), pay],
    });
    await using serving = await serve(agent, { drainMs: 0, inspect: { token: inspectorToken } });
    await using open = await openPage(`http://localhost:${serving.port}`);
    const { page } = open;
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.getByRole('heading', { name: 'No steps yet' }).waitFor();
    await page.locator('.composer-text').fill('How is Bern?');
    await page.locator('.composer-text').press('Enter');

    // While the tool works, it is shown as running.
    const step = (name: string) => page.locator('.step.tool', { hasText: name });
    await step('weather').locator('.badge', { hasText: 'running' }).waitFor();
    released.resolve();
    await step('weather').locator('.badge', { hasText: 'running' }).waitFor({ state: 'detached' });
    await step('weather').first().locator('summary').click();
    await step('weather').getByText('Bern').first().waitFor();
    await step('weather').getByText('rain').first().waitFor();
    const first = page.locator('.step.model').first();
    await first.locator('summary').click();
    await first.getByText('Be brief.').waitFor();
    await first.getByText('30 tokens in').waitFor();
    // The sub agent's own model call is nested below it.
    await page.locator('li li li .step.model').first().waitFor();
    expect(await violations(page)).toEqual([]);

    const ask = page.locator('.step-ask');
    await ask.getByText('pay waits for approval').waitFor();
    await ask.getByRole('button', { name: 'Approve' }).click();
    await page.locator('.turn').getByText('All is paid.').waitFor();
    await page.getByRole('region', { name: 'Steps of turn 2' }).waitFor();
    await expect.poll(() => page.locator('.step-ask').count()).toBe(0);

    // The same steps stand beside the task.
    await page.locator('.turn-foot a', { hasText: 'task' }).first().click();
    await page.getByRole('tab', { name: 'Steps' }).click();
    await page.getByRole('region', { name: 'Steps of turn 2' }).waitFor();
  },
);

test('the button "Deny" keeps a call from running, and the model is told', patient, async () => {
  let runs = 0;
  const pay = tool({
    name: 'pay',
    description: 'Pays.',
    needsConfirmation: true,
    run: () => void (runs += 1),
  });
  const model = scriptedModel([calls('pay', { amount: 5 }), 'Nothing was paid.']);
  const agent = llmAgent({ name: 'clerk', model, tools: [pay] });
  await using serving = await serve(agent, { drainMs: 0, inspect: { token: inspectorToken } });
  await using open = await openPage(`http://localhost:${serving.port}`);
  const { page } = open;
  await open.say('Pay 5 francs');
  await page.getByRole('tab', { name: 'Steps' }).click();
  const ask = page.locator('.step-ask');
  await ask.getByText('pay waits for approval').waitFor();
  await ask.getByRole('button', { name: 'Deny' }).click();
  await page.locator('.turn').getByText('Nothing was paid.').waitFor();
  await expect.poll(() => page.locator('.step-ask').count()).toBe(0);
  expect([runs, model.requests[1]?.promptText]).toEqual([
    0,
    expect.stringContaining('did not confirm this call'),
  ]);
});

test('attempts at a turn have its number', () => {
  const turns = ['m-1', 'm-1', 'm-2', 'm-3', 'm-3'].map((messageId) => ({ messageId }));
  expect(turnNumbers(turns)).toEqual([1, 1, 2, 3, 3]);
});

test('on a phone, the steps keep their names, states and times', patient, async () => {
  const travel = llmAgent({ name: 'travel-desk', model: scriptedModel([]) });
  const model = scriptedModel([calls('travel-desk', { request: 'a trip' }), 'Not booked.']);
  const top = llmAgent({ name: 'concierge', model, tools: [agentTool(travel)] });
  await using serving = await serve(top, { drainMs: 0, inspect: { token: inspectorToken } });
  await using open = await openPage(`http://localhost:${serving.port}`, {
    viewport: { width: 390, height: 780 },
  });
  const { page } = open;
  await open.say('Go');
  await page.getByRole('button', { name: 'Inspect' }).click();
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.locator('.step .badge', { hasText: 'failed' }).first().waitFor();
  const cut = await page.locator('.step-name, .step-time').evaluateAll((all) =>
    all
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .concat(all.filter((one) => one.getBoundingClientRect().right > innerWidth))
      .map(({ textContent }) => textContent),
  );
  expect(cut).toEqual([]);
  const edges = await page
    .locator('.step-bar')
    .evaluateAll((bars) => bars.map((bar) => Math.round(bar.getBoundingClientRect().right)));
  expect(new Set(edges).size).toBe(1);
});

test('the steps of earlier tasks of a conversation are shown on request', patient, async () => {
  const agent = llmAgent({ name: 'clerk', model: scriptedModel(['First.', 'Second.']) });
  await using serving = await serve(agent, { drainMs: 0, inspect: { token: inspectorToken } });
  await using open = await openPage(`http://localhost:${serving.port}`);
  const { page } = open;
  await page.getByRole('tab', { name: 'Steps' }).click();
  await open.say('one');
  const answer = (text: string) => page.locator('.step.model', { hasText: text }).waitFor();
  await page.locator('.step.model summary').click();
  await answer('First.');
  const slider = page.getByRole('slider', { name: 'Task' });
  expect(await slider.count()).toBe(0);
  await open.say('two');
  await page.getByText('Task 2 of 2').waitFor();
  await page.locator('.step.model summary').click();
  await answer('Second.');
  await page.getByRole('button', { name: 'Previous task' }).click();
  await page.getByText('Task 1 of 2').waitFor();
  await answer('First.');
  expect(await slider.getAttribute('aria-valuetext')).toBe('Task 1 of 2');
  expect(await violations(page)).toEqual([]);
});

test('the steps of a remote agent join those of its caller', patient, async () => {
  const store = await openStore({ type: 'memory' });
  const far = llmAgent({ name: 'far', model: scriptedModel(['From afar.']) });
  await using remote = await serve(far, { drainMs: 0, store });
  const model = scriptedModel([calls('far', { request: 'a' }), 'Done.']);
  const tools = [agentTool(remoteAgent(remote.url, { name: 'far' }))];
  const inspect = { token: inspectorToken };
  const top = llmAgent({ name: 'top', model, tools });
  await using serving = await serve(top, { drainMs: 0, store, inspect });
  await using open = await openPage(`http://localhost:${serving.port}`);
  const { page } = open;
  await open.say('Go');
  await page.getByRole('tab', { name: 'Steps' }).click();
  const joined = page.locator('.steps-remote');
  await joined.locator('.step.agent', { hasText: 'far' }).waitFor();
  await joined.locator('.step.model').waitFor();
  const bars = (of: string) =>
    page.locator(`${of} .step-bar`).evaluateAll((all) => all.map((bar) => bar.clientWidth));
  // All bars are on one axis, however deep their steps are.
  expect(new Set(await bars('.steps-tab')).size).toBe(1);
});
