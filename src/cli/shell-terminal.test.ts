import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serve, type Serving } from '../http/index.ts';
import { legate, patient } from './testing/legate-process.ts';
import { Typist } from './testing/typist.ts';
import { triedAgent } from './testing/tried-agent.ts';

const keys = { interrupt: '\u0003', up: '\u001B[A', tab: '\t', enter: '\r' };

let server: Serving;
beforeAll(async () => {
  server = await serve(triedAgent);
});
afterAll(() => server.close());

function temporaryHome(): Disposable & { readonly home: string; readonly history: string } {
  const home = mkdtempSync(join(tmpdir(), 'legate-shell-'));
  return {
    home,
    history: join(home, 'history'),
    [Symbol.dispose]: () => rmSync(home, { recursive: true, force: true }),
  };
}

/** A shell on a terminal of its own. */
function shellOf(home: string, history: string): Typist {
  return new Typist(['shell', server.url], home, { LEGATE_SHELL_HISTORY: history });
}

test(
  'Ctrl+C clears the line and then leaves; lines come back in the next session; Tab completes commands and buttons',
  patient,
  async () => {
    using place = temporaryHome();
    const first = shellOf(place.home, place.history);
    await first.says('you > ');
    await first.type('a slip of the pen', 'a slip of the pen');
    await first.type(`${keys.interrupt}chunks${keys.enter}`, 'one two');
    await first.type(` a secret${keys.enter}`, 'you > ');
    await first.type('/hist', '/hist');
    await first.type(keys.tab, 'ory');
    await first.type(keys.enter, 'you: chunks');
    expect(first.shown).not.toContain('you: a slip of the pen');
    await first.type(`assistant${keys.enter}`, '2) Show my balance');
    await first.type('sho', 'sho');
    await first.type(keys.tab, 'Show my balance');
    await first.type(keys.enter, 'You chose Show my balance.');
    await first.type(keys.interrupt, '');
    expect(await first.ended).toBe(0);
    expect(readFileSync(place.history, 'utf8').split('\n')[0]).toBe('chunks');
    expect(readFileSync(place.history, 'utf8')).not.toContain('secret');

    const second = shellOf(place.home, place.history);
    await second.says('you > ');
    await second.type(keys.up, 'Show my balance');
    await second.type(`${keys.interrupt}/stop${keys.enter}`, '/stop');
    expect(await second.ended).toBe(0);
  },
);

test('the history is bounded, and only its owner can read it', patient, async () => {
  using place = temporaryHome();
  const lines = Array.from({ length: 1_200 }, (_, index) => `line ${index}\n`);
  writeFileSync(place.history, lines.join(''));
  chmodSync(place.history, 0o644);
  const typist = shellOf(place.home, place.history);
  await typist.says('you > ');
  await typist.type(`/stop${keys.enter}`, '/stop');
  expect(await typist.ended).toBe(0);
  expect(statSync(place.history).mode & 0o777).toBe(0o600);
  const kept = readFileSync(place.history, 'utf8').trim().split('\n');
  expect(kept).toHaveLength(1_000);
  expect(kept[0]).toBe('line 200');
});

test(
  'an unknown command is refused with the list, and is no message; //text is one',
  patient,
  async () => {
    const input = '/histroy\n/ask me\n//ask\n/state\n';
    const { code, out, err } = await legate(['shell', server.url], { input });
    expect(code).toBe(1);
    expect(err).toContain('/histroy is not a command. Did you mean /history?');
    expect(err).toContain('/restart  start a new conversation');
    expect(err).toContain('/ask is not a command.');
    expect(out.match(/task \S+/g)).toHaveLength(1);
  },
);

test('a list on a terminal shows the answers, of artifacts too', patient, async () => {
  using place = temporaryHome();
  await using own = await serve(triedAgent);
  expect((await legate(['send', own.url, 'chunks'])).code).toBe(0);
  const list = new Typist(['list', own.url], place.home);
  expect(await list.ended).toBe(0);
  expect(list.shown).toMatch(/completed .* one two/);
});
