import type { PeerResult } from '../../agents/index.ts';
import type { InvocationSession, PeerNetwork } from '../../peers/index.ts';
import { data, type JsonObject, text, toLegateError } from '../../protocol/index.ts';
import type { AbandonedCall, Call, CallHandler, CallOutcome } from '../executor/call-handler.ts';
import { digestId } from '../../store/index.ts';
import { historyText } from './agent-input.ts';
import { outcomeOf, ProgressMessages } from './outcome.ts';

/** A peer that flows can call. */
export interface CalledPeer {
  readonly name: string;
  readonly skill?: string | undefined;
}

/**
 * Runs `call:` steps that name a peer of `peers:` in endpoints.yml. If the peer asks a question, the user
 * gets it and the answer goes back to the peer. When the flow is cancelled, the peer's task is cancelled
 * too.
 */
export class PeerHandler implements CallHandler {
  readonly kind = 'agent';
  readonly #peers: ReadonlyMap<string, CalledPeer>;
  readonly #network: () => PeerNetwork;

  constructor(peers: readonly CalledPeer[], network: () => PeerNetwork) {
    this.#peers = new Map(peers.map((peer) => [peer.name, peer]));
    this.#network = network;
  }

  handles({ target, mcpServer }: Call['step']): boolean {
    return mcpServer === undefined && this.#peers.has(target);
  }

  async run(call: Call): Promise<CallOutcome> {
    using progress = new ProgressMessages(call);
    const say = progress.attempt();
    const { invocation: known } = call.metadata;
    const waiting = {
      signal: call.signal,
      onProgress: (words: string) => say({ text: words }),
    };
    try {
      const network = this.#network();
      const { invoker } = network;
      await network.started;
      if (typeof known === 'string' && call.mode !== 'start' && call.mode !== 'restart') {
        // After an interruption the user's message is not the answer: the question is repeated.
        const isAnswer = call.mode === 'continue' || call.isCorrection;
        const invocation = await invoker.find(known);
        if (isAnswer && invocation?.state === 'asking') {
          await invoker.answer(known, call.userMessage);
        }
        return toOutcome(call, known, await network.resume(known, waiting));
      }
      const id = idOf(call);
      const { skill } = this.#peers.get(call.step.target) ?? {};
      const result = await network.call(
        {
          agent: call.step.target,
          ...(skill !== undefined && { skill }),
          message: [text(call.userMessage), data(factsOf(call))],
        },
        sessionOf(call),
        { ...waiting, id },
      );
      return toOutcome(call, id, result);
    } catch (error) {
      call.signal.throwIfAborted();
      return { status: 'failed', reason: toLegateError(error).message };
    }
  }

  async cancel({ metadata: { invocation } }: AbandonedCall): Promise<void> {
    if (typeof invocation === 'string') await this.#network().invoker.cancel(invocation);
  }
}

function toOutcome(call: Call, id: string, result: PeerResult): CallOutcome {
  switch (result.state) {
    case 'completed':
      return outcomeOf(call, {
        id,
        status: 'completed',
        responseMessage: result.text,
        structuredResults: [result.data.map((each) => ({ name: result.agent, result: each }))],
      });
    case 'input-required':
    case 'auth-required':
      return outcomeOf(call, {
        id,
        status: 'input_required',
        responseMessage: result.question,
        metadata: { invocation: id },
      });
    default:
      return { status: 'failed', reason: `${result.state}: ${result.reason.slice(0, 300)}` };
  }
}

function sessionOf({ senderId }: Call): InvocationSession {
  return { id: senderId, caller: { tenant: '', subject: senderId, method: 'conversation' } };
}

/** Slots with a value and the last messages, like in the input of sub agents. */
function factsOf({ domain, slots, transcript }: Call): JsonObject {
  const own = [...domain.slots.values()].filter(({ builtin }) => !builtin);
  const filled = own.flatMap(({ name }) =>
    slots[name] === undefined || slots[name] === null ? [] : [[name, slots[name]] as const],
  );
  return { slots: Object.fromEntries(filled), conversation_history: historyText(transcript) };
}

/** Unique for each start of the step: the transcript grows with every message. */
function idOf({ senderId, step, flow, transcript, clock }: Call): string {
  return digestId(senderId, flow.id, step.id, transcript.length, clock.now());
}
