/**
 * Two agents find a time for a meeting, on behalf of their users and over the bus. Bob lets Alice's agent
 * use his calendar. Alice answers the first question herself, and then lets her agent continue.
 */
import assert from 'node:assert/strict';
import {
  busLink,
  hostOnBus,
  MessageSigner,
  MessageVerifier,
  openBus,
} from '../../src/bus/index.ts';
import { joinPeers, peerSubject, readTrustName, trustGate } from '../../src/peers/index.ts';
import { generateSigningKey, publicKeySet } from '../../src/push/index.ts';
import { openMemory } from '../../src/store/index.ts';
import { bob } from './bob.ts';

// Uses a broker if there is one, otherwise the memory of this process; the other code is the same.
const { AMQP_URL: url } = process.env;
await using bus = await openBus(
  url ? { type: 'rabbitmq', url, exchange: 'example-meeting' } : { type: 'memory' },
);

// Each agent has a key, and trusts that of the other.
const keys = { alice: generateSigningKey(), bob: generateSigningKey() };
const verifier = new MessageVerifier({
  trusted: Object.entries(keys).map(([issuer, key]) => ({ issuer, keys: publicKeySet([key]) })),
});

// Bob's side: requests are executed as far as Bob trusts their agents.
await using bobs = await joinPeers({
  name: 'bob',
  store: openMemory(),
  links: [busLink({ bus, verifier })],
});
const bobsUser = { tenant: '', subject: 'bob', method: 'local' };
const gated = trustGate(bob, {
  ledger: bobs.trust,
  memory: bobs.memory(bobsUser),
  proposals: bobs.proposals,
});
const bobsKey = new MessageSigner({ issuer: 'bob', key: keys.bob });
await using host = await hostOnBus(gated, { bus, verifier, signer: bobsKey });
await bobs.trust.grant(readTrustName('message-token:alice'), {
  level: 'act',
  skills: ['negotiate-meeting'],
  by: 'bob',
});

// Alice's side: her agent answers by her calendar, once she allows it.
const busy = new Set(['Monday 10:00', 'Tuesday 14:00']);
const byCalendar = (offer: string): string => (busy.has(offer) ? 'No, I am busy then.' : 'Yes.');
const asked: string[] = [];
let answeredByAgent = 0;
await using alices = await joinPeers({
  name: 'alice',
  store: openMemory(),
  links: [
    busLink({
      bus,
      verifier,
      requireSigned: true,
      signer: new MessageSigner({ issuer: 'alice', key: keys.alice }),
    }),
  ],
  wellKnown: [{ name: host.name }],
  conversations: {
    async answer(_invocation, { parts }) {
      answeredByAgent += 1;
      const offered = parts.find((part) => part.data !== undefined)?.data;
      return byCalendar((offered as { offer?: string } | undefined)?.offer ?? '');
    },
  },
});
const session = { id: 'chat-1', caller: { tenant: '', subject: 'alice', method: 'local' } };
let task = await alices.invoker.invokeAndWait(
  {
    agent: 'bob',
    skill: 'negotiate-meeting',
    message: 'Find half an hour for the budget.',
    data: { minutes: 30 },
  },
  session,
);

// The agent has no permission to answer for Alice, so it asks her.
assert.equal(task.state, 'asking');
asked.push(task.question?.text ?? '');
await alices.trust.grant(peerSubject('bob'), {
  level: 'act',
  skills: ['negotiate-meeting'],
  by: 'alice',
});
await alices.invoker.answer(task.id, byCalendar('Monday 10:00'));
task = await alices.invoker.wait(task.id);

assert.deepEqual(asked, ['How about Monday 10:00?']);
assert.equal(answeredByAgent, 2);
assert.equal(task.outcome?.end, 'TASK_STATE_COMPLETED');
assert.deepEqual(task.outcome.data, [{ time: 'Wednesday 09:00' }]);
const kept = await alices.memory(session.caller).get(task.outcome.keys?.result ?? '');
assert.equal(kept?.value, 'The meeting is on Wednesday 09:00.');
const [outcome] = await bobs.memory(bobsUser).search({ category: 'a2a-outcome' });
assert.match(outcome?.value ?? '', /alice .*Outcome: The meeting is on Wednesday 09:00\./s);
console.log('meeting: two agents agreed on Wednesday 09:00 after three rounds');
