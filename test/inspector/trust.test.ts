import { afterAll, expect, test } from 'vitest';
import { agent, completed, textOf } from '../../src/agents/index.ts';
import { Authenticator, bearerTokenVerifier } from '../../src/auth/index.ts';
import { connect } from '../../src/client/index.ts';
import { serve } from '../../src/http/index.ts';
import { inspectedNetwork, joinPeers, trustGate } from '../../src/peers/index.ts';
import { message } from '../../src/protocol/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { closeChromium } from '../support/chromium.ts';
import { openPage, patient } from './pages.ts';

afterAll(closeChromium);

const skills = [{ id: 'bake', name: 'Baking', description: 'Bakes bread.', tags: ['bread'] }];

/** A baker behind a trust gate, with its directory and ledger in the inspector. */
async function bakerWithTrust() {
  const store = openMemory();
  const network = await joinPeers({ name: 'baker', store, wellKnown: [{ name: 'mill' }] });
  const { trust: ledger, proposals } = network;
  const memory = network.memory({ tenant: '', subject: 'user', method: 'local' });
  const baker = agent({ name: 'baker', skills }, async function* (turn) {
    yield completed(`Baked ${textOf(turn.message)}`);
  });
  const tokens = [
    { token: 'shop-token', subject: 'shop' },
    { token: 'operator-token', subject: 'olga', scopes: ['inspect'] },
  ];
  const serving = await serve(trustGate(baker, { ledger, memory, proposals }), {
    store,
    inspect: { network: inspectedNetwork(network, { name: 'baker' }) },
    auth: new Authenticator({ verifiers: [bearerTokenVerifier({ tokens })] }),
    drainMs: 0,
  });
  return {
    url: serving.url,
    async [Symbol.asyncDispose]() {
      await serving.close();
      await network.close();
      await store.close();
    },
  };
}

test(
  'a caller becomes a peer, gets trust and an approval, and loses the trust again',
  patient,
  async () => {
    await using made = await bakerWithTrust();
    await using open = await openPage(made.url, { hash: '#/peers', byLink: false });
    const { page } = open;
    await page.getByLabel('Secret').fill('operator-token');
    await page.getByRole('button', { name: 'Open inspector' }).click();
    // The directory has the mill; there were no calls yet.
    await page.locator('.peer-row', { hasText: 'mill' }).waitFor();
    const shop = await connect(made.url, { auth: { bearer: 'shop-token' } });
    const order = (text: string) => shop.sendMessage({ message: message(text) });
    const stateOf = (answer: Awaited<ReturnType<typeof order>>) =>
      'task' in answer ? answer.task.status.state : undefined;

    // A stranger is merely noted, and shows up by itself.
    await order('ten loaves');
    await page.locator('.peer-row', { hasText: 'shop' }).click({ timeout: 15_000 });
    const level = (name: string) => page.getByRole('radio', { name: new RegExp(`^${name}`) });
    expect(await level('observe').isChecked()).toBe(true);

    // What it asks for waits for the operator, who is told whatever they look at.
    await level('propose').check();
    await page.locator('.peer-row', { hasText: 'shop' }).getByText('propose').waitFor();
    await page.goto(`${made.url}/inspect/#/tasks`);
    const waiting = order('twenty loaves');
    await page.locator('.nav-count').waitFor({ timeout: 15_000 });
    expect(await page.locator('.nav-count').textContent()).toBe('1 waiting for approval');
    await page.goto(`${made.url}/inspect/#/peers`);
    await page.locator('.approval').getByRole('button', { name: 'Approve' }).click();
    expect(stateOf(await waiting)).toBe('TASK_STATE_COMPLETED');
    await expect.poll(() => page.locator('.nav-count').count()).toBe(0);

    // Trusted to act, it need not wait; without that trust it is refused.
    await page.locator('.peer-row', { hasText: 'shop' }).click();
    await page.getByLabel('Approved skills').fill('bake');
    await level('act').check();
    await page
      .locator('.peer-row', { hasText: 'shop' })
      .getByText('act', { exact: true })
      .waitFor();
    expect(stateOf(await order('thirty loaves'))).toBe('TASK_STATE_COMPLETED');
    await level('propose').check();
    await page.locator('.peer-row', { hasText: 'shop' }).getByText('propose').waitFor();
    const refused = order('forty loaves');
    await page
      .locator('.approval')
      .getByRole('button', { name: 'Reject' })
      .click({ timeout: 15_000 });
    expect(stateOf(await refused)).toBe('TASK_STATE_REJECTED');
  },
);
