import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../../protocol/index.ts';
import { domain, slot, TestClock } from '../testing/domain.ts';
import {
  actionExecuted,
  botUttered,
  type EventDraft,
  sessionStarted,
  slotSet,
  userUttered,
} from './events.ts';
import { decodeEvents } from './state.ts';
import { formerTrackerJson, Tracker } from './tracker.ts';
import { trackerJson } from './json.ts';

const bank = domain([slot('amount', 'float'), slot('tier', 'text', { initialValue: 'basic' })]);

function create(clock = new TestClock()): Tracker {
  return Tracker.create({ senderId: 'ada', sessionId: 's1' }, { domain: bank, clock });
}

function user(text: string): EventDraft {
  return userUttered({ text, channel: 'rest', messageId: 'm', metadata: {}, commands: [] });
}

test('a slot starts with its initial value and takes the value of slot events', () => {
  const tracker = create();
  expect(tracker.slots).toEqual({ amount: null, tier: 'basic' });
  tracker.apply(slotSet('amount', 5, 'llm'));
  expect(tracker.slot('amount')).toBe(5);
  expect(tracker.filledBy('amount')).toBe('llm');
  tracker.apply({ event: 'reset_slots' });
  expect(tracker.slots).toEqual({ amount: null, tier: 'basic' });
  expect(tracker.filledBy('amount')).toBeUndefined();
});

test('only slots that differ from their initial value are saved, null included', () => {
  const tracker = create();
  tracker.apply(slotSet('tier', null));
  const { value } = tracker.save();
  expect(value['slots']).toEqual({ tier: null });
  expect(Tracker.load(value, { domain: bank, clock: new TestClock() }).slot('tier')).toBeNull();
});

test('slots that the domain does not know are neither set nor loaded', () => {
  const tracker = create();
  tracker.apply(slotSet('__proto__', { polluted: true }));
  tracker.apply(slotSet('colour', 'red'));
  expect(tracker.slot('colour')).toBeNull();
  expect(tracker.slot('__proto__')).toBeNull();
  const smaller = domain([slot('tier')]);
  tracker.apply(slotSet('amount', 3));
  const loaded = Tracker.load(tracker.save().value, { domain: smaller, clock: new TestClock() });
  expect(loaded.slots).toEqual({ tier: null });
});

test('events carry the time in seconds, the session and the given metadata', () => {
  const clock = new TestClock();
  const tracker = Tracker.create(
    { senderId: 'ada', sessionId: 's1' },
    { domain: bank, clock, eventMetadata: { model_id: 'm1' } },
  );
  const event = tracker.apply(slotSet('amount', 1));
  expect(event.timestamp).toBe(clock.now() / 1000);
  expect(event['metadata']).toEqual({ session_id: 's1', model_id: 'm1' });
});

test('a new session empties stack, slots and transcript, and takes the new session id', () => {
  const tracker = create();
  tracker.apply(user('hello'));
  tracker.apply(slotSet('amount', 5));
  tracker.setStack([
    { type: 'flow', frameId: 'F1', flowId: 'a', stepId: 'START', frameType: 'regular' },
  ]);
  tracker.apply(sessionStarted('s2'));
  expect(tracker.stack).toEqual([]);
  expect(tracker.slot('amount')).toBeNull();
  expect(tracker.state.transcript).toEqual([]);
  expect(tracker.state.sessionId).toBe('s2');
});

test('transcript and repeatable messages are bounded', () => {
  const tracker = create();
  for (let turn = 0; turn < 200; turn += 1) {
    tracker.apply(user(`question ${turn} ${'x'.repeat(5_000)}`));
    tracker.apply(botUttered({ text: 'answer', custom: { blob: 'y'.repeat(100_000) } }));
  }
  expect(tracker.state.transcript).toHaveLength(30);
  expect(JSON.stringify(tracker.save().value).length).toBeLessThan(150_000);
});

test('a flow of messages and of states leads to the flags of the tracker', () => {
  const tracker = create();
  tracker.apply({ event: 'pause' });
  expect(tracker.state.paused).toBe(true);
  tracker.apply({ event: 'resume' });
  tracker.apply({ event: 'conversation_inactive' });
  expect(tracker.state).toMatchObject({ paused: false, inactive: true });
  tracker.apply(user('back'));
  expect(tracker.state.inactive).toBe(false);
  tracker.apply({ event: 'session_ended' });
  expect(tracker.state.terminated).toBe(true);
});

test.each<[string, JsonObject]>([
  ['senderId', { senderId: 7 }],
  ['stack.0.stepId', { stack: [{ type: 'pattern', frameId: 'F1', flowId: 'f', context: {} }] }],
  ['stack.0.type', { stack: [{ type: 'room' }] }],
  ['filledBy.amount', { filledBy: { amount: 'me' } }],
  ['transcript.0.speaker', { transcript: [{ speaker: 'cat', text: 'meow' }] }],
])('a saved conversation with a broken %s is refused, and the place named', (where, broken) => {
  const { value } = create().save();
  const options = { domain: bank, clock: new TestClock() };
  expect(() => Tracker.load({ ...value, ...broken }, options)).toThrow(`can't read: ${where}: `);
});

test('a conversation that was saved before later fields existed gets their first values', () => {
  const { activeAt, timer, spoken, heard, ...older } = create().save().value;
  expect([activeAt, timer, spoken, heard]).not.toContain(undefined);
  const { state } = Tracker.load(older, { domain: bank, clock: new TestClock() });
  expect(state).toMatchObject({ activeAt: state.latestEventTime, timer: null, spoken: [] });
});

test('a value of another version is refused with both versions named', () => {
  const { value } = create().save();
  const options = { domain: bank, clock: new TestClock() };
  expect(() => Tracker.load({ ...value, version: 7 }, options)).toThrow(
    'saved in version 7; this program reads version 1',
  );
});

test('tracker JSON has every slot, the frames in the wire form and the events asked for', () => {
  const tracker = create();
  tracker.apply(user('send 5'));
  tracker.setStack([
    { type: 'flow', frameId: 'F1', flowId: 'transfer', stepId: '0_collect', frameType: 'regular' },
    {
      type: 'pattern',
      frameId: 'F2',
      flowId: 'pattern_collect_information',
      stepId: 'listen',
      context: { collect: 'amount' },
    },
  ]);
  tracker.logStack();
  const { value, events } = tracker.save();
  const json = trackerJson(value, events, bank);
  expect(json).toMatchObject({
    sender_id: 'ada',
    slots: { amount: null, tier: 'basic' },
    latest_message: { text: 'send 5' },
    latest_input_channel: 'rest',
    stack: [
      { frame_id: 'F1', flow_id: 'transfer', step_id: '0_collect', frame_type: 'regular' },
      { type: 'pattern_collect_information', collect: 'amount' },
    ],
  });
  const patch = JSON.parse(events.at(-1)?.['update'] as string) as JsonObject[];
  expect(patch).toEqual([{ op: 'replace', path: '', value: json['stack'] }]);
});

const anyEvent: fc.Arbitrary<EventDraft> = fc.oneof(
  fc.string().map(user),
  fc.string().map((text) => botUttered({ text })),
  fc
    .tuple(fc.constantFrom('amount', 'tier', 'other'), fc.jsonValue())
    .map(([name, value]) => slotSet(name, value as never, 'llm')),
  fc
    .constantFrom('pause', 'resume', 'conversation_inactive', 'reset_slots', 'restart')
    .map((event) => ({ event })),
  fc.string().map(sessionStarted),
);

test('saving and loading between any two events changes nothing', () => {
  fc.assert(
    fc.property(fc.array(anyEvent), fc.array(anyEvent), (before, after) => {
      const options = { domain: bank, clock: new TestClock() };
      const straight = create();
      for (const event of before) straight.apply(event);
      const saved = JSON.parse(JSON.stringify(straight.save().value)) as JsonObject;
      const resumed = Tracker.load(saved, options);
      for (const event of after) {
        straight.apply(event);
        resumed.apply(event);
      }
      expect(JSON.stringify(resumed.save().value)).toBe(JSON.stringify(straight.save().value));
    }),
  );
});

test('section 7: a rewind takes back what came from the last message on, the log keeps it', () => {
  const tracker = create();
  tracker.apply(user('hello'));
  tracker.apply(botUttered({ text: 'Hi.' }));
  tracker.apply(actionExecuted('action_listen'));
  tracker.setStack([
    { type: 'flow', frameId: tracker.newFrameId(), flowId: 'pay', stepId: 'a', frameType: 'call' },
  ]);
  tracker.logStack();
  const { value: before } = tracker.save();
  tracker.apply(user('five'));
  tracker.apply(slotSet('amount', 5, 'llm'));
  tracker.apply({ event: 'pause' });
  tracker.apply({ event: 'followup', name: 'action_x' });
  tracker.apply(botUttered({ text: 'Five it is.' }));
  tracker.newFrameId();
  tracker.setStack([]);
  tracker.logStack();
  tracker.undo({ event: 'rewind' }, []);
  expect(tracker.save().value).toEqual({ ...before, frameCount: 2 });
  expect(tracker.events.map(({ event }) => event).slice(-2)).toEqual(['stack', 'rewind']);
  expect(tracker.slots).toEqual({ amount: null, tier: 'basic' });
});

test('section 7: a rewind goes back to what former turns left', () => {
  const clock = new TestClock();
  const first = create(clock);
  first.apply(user('hello'));
  first.apply(slotSet('amount', 3));
  first.apply(user('four'));
  first.apply(slotSet('amount', 4));
  const saved = first.save();
  const second = Tracker.load(saved.value, { domain: bank, clock });
  second.apply(user('five'));
  second.apply(slotSet('amount', 5));
  second.undo({ event: 'rewind' }, saved.events);
  expect(second.slot('amount')).toBe(4);
  second.undo({ event: 'rewind' }, saved.events);
  expect(second.slot('amount')).toBe(3);
  expect(second.state.latestMessage).toMatchObject({ text: 'hello' });
  expect(second.state.transcript.map(({ text }) => text)).toEqual(['hello']);
  const log = [...saved.events, ...second.events];
  const { slots, events } = formerTrackerJson(second.save().value, log, bank, clock.now());
  expect(slots).toMatchObject({ amount: 3 });
  expect(events).toEqual(log);
});

test('section 7: an undo takes back what the last action did', () => {
  const tracker = create();
  tracker.apply(user('five'));
  tracker.apply(slotSet('amount', 5, 'llm'));
  tracker.apply(actionExecuted('action_double'));
  tracker.apply(slotSet('amount', 10));
  tracker.apply(botUttered({ text: 'Ten.' }));
  tracker.undo({ event: 'undo' }, []);
  expect(tracker.slot('amount')).toBe(5);
  expect(tracker.filledBy('amount')).toBe('llm');
  expect(tracker.state).toMatchObject({ latestAction: null, spoken: [] });
  expect(tracker.state.latestMessage).toMatchObject({ text: 'five' });
});

test('a log with an entry that is not an event is refused, and the entry named', () => {
  const bot = { event: 'bot', timestamp: 1 };
  expect(decodeEvents([bot])).toEqual([bot]);
  expect(() => decodeEvents([bot, { name: 'bot' }])).toThrow('entry 2');
});

test('a conversation whose log has a bot event with fields of another type can be loaded again', () => {
  const clock = new TestClock();
  const tracker = create(clock);
  tracker.apply({ event: 'bot', text: 'Hi', data: { buttons: 'none', image: 7, custom: null } });
  tracker.apply({ event: 'slot', name: 'amount', value: 5, filled_by: 'nobody' });
  const loaded = Tracker.load(tracker.save().value, { domain: bank, clock });
  expect(loaded.state.spoken).toEqual([{ text: 'Hi' }]);
  expect(loaded.slot('amount')).toBe(5);
});
