/** The commands that a command generator may return. */
import type { JsonObject, JsonValue } from '../protocol/index.ts';

/**
 * What a message means for the conversation.
 * @example
 * // "Send 50 euros to Bob"
 * const commands: readonly Command[] = [
 *   { command: 'start flow', flow: 'transfer_money' },
 *   { command: 'set slot', name: 'amount', value: 50, by: 'llm' },
 *   { command: 'set slot', name: 'recipient', value: 'Bob', by: 'llm' },
 * ];
 */
export type Command =
  | { readonly command: 'start flow'; readonly flow: string }
  | {
      readonly command: 'set slot';
      readonly name: string;
      readonly value: JsonValue;
      readonly by: Extractor;
    }
  | { readonly command: 'correct slots'; readonly slots: Readonly<Record<string, JsonValue>> }
  | { readonly command: 'cancel flow' }
  | { readonly command: 'clarify'; readonly options: readonly string[] }
  /** `topic`: what the small talk is about, such as `greeting`; see `context.topic` of `pattern_chitchat`. */
  | { readonly command: 'chitchat'; readonly topic?: string }
  | { readonly command: 'knowledge answer' }
  | { readonly command: 'skip question' }
  | { readonly command: 'human handoff' }
  | { readonly command: 'repeat bot messages' }
  | { readonly command: 'continue agent' }
  | { readonly command: 'restart agent'; readonly agent: string }
  | { readonly command: 'cannot handle'; readonly reason: string }
  | { readonly command: 'error'; readonly errorType: string; readonly info: JsonObject }
  | { readonly command: 'code change' }
  | { readonly command: 'session start' }
  | { readonly command: 'session end' }
  | { readonly command: 'restart' }
  | { readonly command: 'user silence' };

/**
 * Who extracted a slot value: decides which mappings may be filled, and who wins over whom. `llm` is a
 * model and `matching` the generator without one: both read what a user typed and fill the same slots.
 * @example const pressed: Extractor = 'payload'; // a button with /SetSlots(express=true)
 */
export type Extractor = 'llm' | 'matching' | 'nlu' | 'payload' | 'orchestrator';
