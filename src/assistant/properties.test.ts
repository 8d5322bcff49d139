import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonObject } from '../protocol/index.ts';
import type { StackFrame } from './conversation.ts';
import { flowSlots } from './flows/flow-slots.ts';
import { callChain, segmentsOf, stackProblems } from './stack/stack.ts';
import {
  anyActions,
  anyAgents,
  type AnyMessage,
  anyMessage,
  anyProject,
  readAnyMessage,
} from './testing/arbitrary.ts';
import { Conversation } from './testing/conversation.ts';
import type { TestProject } from './testing/project.ts';
import { startsSession } from './tracker/events.ts';
import { Tracker } from './tracker/tracker.ts';

const anyMessages = fc.array(anyMessage, { minLength: 1, maxLength: 12 });
const RUNS = { numRuns: 200 };

/** A conversation in which messages mean what `anyMessage` says. */
class AnyConversation extends Conversation {
  #message: AnyMessage | undefined;

  constructor(project: TestProject) {
    super(project, {
      actions: anyActions,
      callHandlers: [anyAgents()],
      maxSteps: 150,
      generator: {
        name: 'any',
        generate: async (input) =>
          this.#message === undefined ? [] : readAnyMessage(this.#message, input),
      },
    });
  }

  hear(message: AnyMessage): Promise<readonly string[]> {
    this.#message = message;
    const { text, slots = {} } = message;
    return this.send({ text, slots });
  }
}

function stackOf(chat: Conversation): readonly StackFrame[] {
  return chat.tracker?.['stack'] as unknown as readonly StackFrame[];
}

test('whatever is said, the stack stays well-formed and every turn ends listening or ended', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const chat = new AnyConversation(project);
      for (const message of messages) {
        await chat.hear(message);
        expect(stackProblems(stackOf(chat), project.flows)).toEqual([]);
        expect(chat.outcome.waiting).toBe(!chat.outcome.ended);
        if (chat.outcome.ended) return;
        expect(['action_listen', 'action_agent_request_user_input']).toContain(
          chat.tracker?.['latestAction'],
        );
      }
    }),
    RUNS,
  );
});

test('whatever is said, a slot keeps a value only while a flow works with it, or because one persists it', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const chat = new AnyConversation(project);
      // What an orchestrator knows is nobody's to forget until a flow worked with it.
      const given = new Set(['set_by_action']);
      for (const message of messages) {
        await chat.hear(message);
        for (const name of Object.keys(message.slots ?? {})) given.add(name);
        const kept = Object.keys(chat.outcome.slots).filter((name) => !given.has(name));
        const excused = excusedSlots(project, stackOf(chat));
        expect(kept.filter((name) => !excused.has(name))).toEqual([]);
      }
    }),
    RUNS,
  );
});

/** Slots of the flows on the stack, and those that any flow persists. */
function excusedSlots(project: TestProject, stack: readonly StackFrame[]): ReadonlySet<string> {
  const excused = new Set<string>();
  for (const { id } of project.flows.values()) {
    for (const name of flowSlots(id, project.flows).persisted) excused.add(name);
  }
  for (const frame of segmentsOf(stack).flatMap(callChain)) {
    for (const name of flowSlots(frame.flowId, project.flows).all) excused.add(name);
  }
  return excused;
}

test('saving and loading between turns changes nothing, and the same messages give the same conversation', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const one = new AnyConversation(project);
      const other = new AnyConversation(project);
      for (const message of messages) {
        const said = await one.hear(message);
        if (other.tracker !== undefined) other.tracker = reloaded(project, other);
        expect(await other.hear(message)).toEqual(said);
        expect(other.last).toEqual(one.last);
      }
    }),
    { numRuns: 100 },
  );
});

function reloaded(project: TestProject, chat: Conversation): JsonObject {
  const options = { domain: project.domain, clock: chat.clock };
  return Tracker.load(chat.tracker as JsonObject, options).save().value;
}

test('whatever a message does, a rewind leaves the conversation as it was before', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const chat = new AnyConversation(project);
      for (const message of messages) {
        const before = chat.tracker;
        await chat.hear(message);
        if (chat.outcome.ended) return;
        const events = chat.last?.events ?? [];
        const isTakenBack = events.some(({ event }) => event === 'rewind');
        if (before === undefined || isTakenBack || events.some(startsSession)) continue;
        const after = chat.tracker;
        const log = [...chat.log];
        await chat.record({ event: 'rewind' });
        expect(ofThen(chat.tracker)).toEqual(ofThen(before));
        // The other half of the conversation continues from the message.
        chat.tracker = after;
        chat.log.splice(0, Infinity, ...log);
      }
    }),
    RUNS,
  );
});

/** Without what is of now: times, and how many frames there were. */
function ofThen(tracker: JsonObject | undefined): JsonObject {
  const {
    latestEventTime: _,
    activeAt: __,
    frameCount: ___,
    surveyed: ____,
    ...rest
  } = tracker ?? {};
  return rest;
}

test('whatever is said and taken back, the log tells the conversation', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const chat = new AnyConversation(project);
      for (const message of messages) {
        await chat.hear(message);
        const { senderId, sessionId } = chat.tracker as { senderId: string; sessionId: string };
        const options = { domain: project.domain, clock: chat.clock };
        const rebuilt = Tracker.rebuild({ senderId, sessionId }, chat.log, options).save().value;
        expect(ofThen(JSON.parse(JSON.stringify(rebuilt)) as JsonObject)).toEqual({
          ...ofThen(chat.tracker),
          startedAt: expect.any(Number),
        });
      }
    }),
    RUNS,
  );
});

test('what is kept of a conversation does not grow with it', async () => {
  await fc.assert(
    fc.asyncProperty(anyProject, anyMessages, async (project, messages) => {
      const chat = new AnyConversation(project);
      for (let round = 0; round < 5; round += 1) {
        for (const message of messages) await chat.hear(message);
      }
      expect(stackOf(chat).length).toBeLessThan(100);
      expect(JSON.stringify(chat.tracker).length).toBeLessThan(50_000);
    }),
    { numRuns: 30 },
  );
});
