import type { JsonObject, JsonValue } from '../protocol/index.ts';

/**
 * Something to press instead of writing.
 * @example const button: Button = { title: 'By tomorrow', payload: '/SetSlots(express=true)' };
 */
export type Button = {
  readonly title: string;
  readonly payload: string;
  readonly translation?: Readonly<Record<string, { readonly title?: string }>>;
};

/**
 * What a user may be shown at once.
 * @example
 * const message: BotMessage = {
 *   text: 'Shall it be there tomorrow?',
 *   buttons: [{ title: 'Yes', payload: '/SetSlots(express=true)' }],
 * };
 */
export type BotMessage = {
  readonly text?: string;
  readonly buttons?: readonly Button[];
  readonly quickReplies?: readonly JsonValue[];
  readonly image?: string;
  readonly attachment?: JsonValue;
  readonly custom?: JsonValue;
  readonly elements?: readonly JsonValue[];
  readonly metadata?: JsonObject;
};
