import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { Conversation, start } from '../testing/conversation.ts';
import { parcelActions, parcels } from '../testing/parcels.ts';
import { responseServer, type ResponseServerOptions } from './nlg.ts';

interface Asked {
  readonly url: string | undefined;
  readonly body: JsonObject;
}

/** A server of responses; answers undefined for never. */
async function serve(answer: (asked: JsonObject) => { status?: number; body: string } | undefined) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => {
      const body = JSON.parse(text) as JsonObject;
      asked.push({ url: request.url, body });
      const given = answer(body);
      if (given === undefined) return;
      response.writeHead(given.status ?? 200, { 'content-type': 'application/json' });
      response.end(given.body);
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/nlg`, asked };
}

function open(options: ResponseServerOptions): Conversation {
  return new Conversation(parcels(), {
    actions: parcelActions,
    writer: responseServer(options),
  });
}

test('an NLG server generates responses, and gets their name, sender and channel', async () => {
  const { url, asked } = await serve(() => ({
    body: '{"text": "Whose is it?", "buttons": [{"title": "Bob", "payload": "/SetSlots(recipient=Bob)"}], "image": null}',
  }));
  const chat = open({ url, token: 'hunter2' });
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Whose is it?']);
  expect(chat.last?.messages).toEqual([
    {
      text: 'Whose is it?',
      buttons: [{ title: 'Bob', payload: '/SetSlots(recipient=Bob)' }],
      metadata: { utter_action: 'utter_ask_recipient' },
    },
  ]);
  expect(asked).toMatchObject([
    {
      url: '/nlg?token=hunter2',
      body: {
        response: 'utter_ask_recipient',
        id: null,
        arguments: {},
        channel: { name: 'rest' },
        tracker: { sender_id: 'ada', latest_message: { text: 'send a parcel' } },
      },
    },
  ]);
});

test.each([
  ['an error', { status: 500, body: '{}' }],
  ['no JSON', { body: 'hello' }],
  ['nothing', { body: '{"text": null}' }],
  ['too much', { body: JSON.stringify({ text: 'x'.repeat(2_000) }) }],
  ['never', undefined],
])('what a server answers with %s, the domain says', async (_, answer) => {
  const { url } = await serve(() => answer);
  const chat = open({ url, timeoutMs: 200, maxResponseBytes: 1_000 });
  expect(await chat.say('send a parcel', start('send_parcel'))).toEqual(['Who is it for?']);
});
