/**
 * The domain and the flows of a project. Names follow the project format; see docs/reference.
 */
import type { Position } from '../config/index.ts';
import type { JsonObject, JsonValue } from '../protocol/index.ts';
import type { BotMessage } from './conversation.ts';

export type { Position };

// ---- Domain -------------------------------------------------------------------------------------

/**
 * The type of a slot's value.
 * @example const kind: SlotType = 'float'; // for whole numbers too
 */
export type SlotType = 'text' | 'bool' | 'categorical' | 'float' | 'any' | 'list';

/** A condition under which a slot value is rejected. */
export interface Rejection {
  readonly if: string;
  /** The response that explains the rejection. */
  readonly utter: string;
}

/** How a slot is filled. */
export type SlotMapping =
  | { readonly type: 'from_llm'; readonly allow_nlu_correction: boolean }
  | { readonly type: 'controlled'; readonly run_action_every_turn?: string }
  | {
      readonly type: 'from_entity' | 'from_intent' | 'from_text' | 'from_trigger_intent';
      readonly options: JsonObject;
    };

/**
 * A slot: a value that the conversation keeps.
 * @example
 * const amount: Slot = {
 *   name: 'amount', type: 'float', minValue: 0, initialValue: null, builtin: false,
 *   mappings: [{ type: 'from_llm', allow_nlu_correction: false }],
 * };
 */
export interface Slot {
  readonly name: string;
  readonly type: SlotType;
  /** The values of a categorical slot, in the declared casing. */
  readonly values?: readonly JsonValue[];
  readonly minValue?: number;
  readonly maxValue?: number;
  readonly initialValue: JsonValue;
  /** At least one; `from_llm` if the domain names none. */
  readonly mappings: readonly SlotMapping[];
  readonly validation?: {
    readonly rejections: readonly Rejection[];
    readonly refillUtter: string;
  };
  /** A slot of the engine: orchestrators can't set it, and it is never shown to callers. */
  readonly builtin: boolean;
}

/** A variation of a response. */
export interface ResponseVariation extends BotMessage {
  readonly id?: string;
  /** A condition over slots. */
  readonly condition?: string;
  readonly channel?: string;
  /** By language code. */
  readonly translation?: Readonly<Record<string, string>>;
}

/** When a session expires, and what follows. */
export interface SessionConfig {
  /** Minutes; 0 for never. */
  readonly sessionExpirationTime: number;
  readonly carryOverSlotsToNewSession: boolean;
  readonly startSessionAfterExpiry: boolean;
}

/** An action that the domain declares. */
export interface DeclaredAction {
  readonly name: string;
  readonly sendDomain: boolean;
}

/**
 * The domain: slots, responses and actions.
 * @example
 * const own = (domain: Domain) => [...domain.slots.values()].filter(({ builtin }) => !builtin);
 */
export interface Domain {
  readonly slots: ReadonlyMap<string, Slot>;
  readonly responses: ReadonlyMap<string, readonly ResponseVariation[]>;
  readonly actions: ReadonlyMap<string, DeclaredAction>;
  /** Names of forms, which Legate ignores: a step that names one does nothing. @default none */
  readonly forms?: ReadonlySet<string>;
  readonly intents: readonly string[];
  readonly entities: readonly string[];
  readonly session: SessionConfig;
  /** Groups of words with the same meaning: the keys and values of `synonyms`. @default none */
  readonly synonyms?: readonly (readonly string[])[];
  /** Phrases of small talk by topic, in addition to the built-in ones: `small_talk`. @default none */
  readonly smallTalk?: Readonly<Record<string, readonly string[]>>;
  /** The merged YAML documents, for `GET /domain` and action servers. */
  readonly raw: JsonObject;
}

// ---- Flows --------------------------------------------------------------------------------------

/**
 * A flow: a list of steps, with the conditions under which it starts.
 * @example const isForAll = (flow: Flow) => !flow.isPattern && flow.if === undefined;
 */
export interface Flow {
  readonly id: string;
  /** A readable name; made from the id if the flow has none. */
  readonly name: string;
  readonly description: string;
  readonly translation?: Readonly<Record<string, { readonly name?: string }>>;
  /** The guard, as a condition. */
  readonly if?: string;
  readonly nluTrigger: readonly { readonly intent: string; readonly confidenceThreshold: number }[];
  readonly alwaysIncludeInPrompt: boolean;
  readonly runPatternCompleted: boolean;
  readonly persistedSlots: readonly string[];
  /** All steps by id, including nested ones, in the order of the file. */
  readonly steps: ReadonlyMap<string, Step>;
  /** The id of the first step. */
  readonly first: string;
  /** Phrases of the key `examples`, an extension of Legate for the matching generator. */
  readonly examples: readonly string[];
  readonly isPattern: boolean;
  readonly position: Position;
}

interface StepBase {
  readonly id: string;
  readonly next: Next;
  readonly metadata?: JsonObject;
  readonly position: Position;
}

/** Runs an action or sends a response. */
export interface ActionStep extends StepBase {
  readonly kind: 'action';
  /** Can contain `{{context.x}}`. */
  readonly action: string;
}

/** Asks until a slot is filled. */
export interface CollectStep extends StepBase {
  readonly kind: 'collect';
  readonly slot: string;
  readonly description?: string;
  /** @default `utter_ask_<slot>` */
  readonly utter: string;
  readonly askBeforeFilling: boolean;
  readonly rejections: readonly Rejection[];
  readonly resetAfterFlowEnds: boolean;
  readonly forceSlotFilling: boolean;
}

/** Sets slots. */
export interface SetSlotsStep extends StepBase {
  readonly kind: 'set_slots';
  readonly slots: readonly { readonly slot: string; readonly value: JsonValue }[];
}

/** Does nothing; for its branches. */
export interface NoopStep extends StepBase {
  readonly kind: 'noop';
}

/** Continues with another flow. */
export interface LinkStep extends StepBase {
  readonly kind: 'link';
  readonly flow: string;
}

/** Calls a flow, a sub agent, a peer, or a tool of an MCP server. Which one is resolved after loading. */
export interface CallStep extends StepBase {
  readonly kind: 'call';
  readonly target: string;
  readonly exitIf?: readonly string[];
  readonly mcpServer?: string;
  readonly mapping?: {
    readonly input: readonly { readonly param: string; readonly slot: string }[];
    readonly output: readonly { readonly slot: string; readonly value: string }[];
  };
}

/**
 * A step of a flow.
 * @example
 * const asked = (steps: readonly Step[]) =>
 *   steps.flatMap((step) => (step.kind === 'collect' ? [step.slot] : []));
 */
export type Step = ActionStep | CollectStep | SetSlotsStep | NoopStep | LinkStep | CallStep;

/** The transitions of a step: the first branch whose condition holds, or that has no condition. */
export interface Next {
  readonly branches: readonly { readonly if?: string; readonly to: string }[];
}

/** The step id of a frame before its first step. */
export const START = 'START';
/** The target of a branch that ends the flow. */
export const END = 'END';
