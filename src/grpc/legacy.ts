import type { AgentCard, Operation } from '../protocol/index.ts';
import type { WireType } from './proto-json.ts';

/**
 * Where the 0.3 service differs from 0.3 over REST, whose dialect it otherwise shares. In its proto
 * an absent number or boolean cannot be told from 0 or false, and the card has the form of 1.x where
 * JSON readers of 0.3 expect their own.
 */

/** The requests of an operation, with what their absences mean. */
export function legacyRequest(operation: Operation, wire: WireType): WireType {
  switch (operation) {
    case 'sendMessage':
    case 'sendStreamingMessage':
      return { ...wire, decode: (bytes) => readSend(wire.decode(bytes) as SendJson) };
    case 'getTask':
      return { ...wire, decode: (bytes) => readHistoryLength(wire.decode(bytes) as LengthJson) };
    default:
      return wire;
  }
}

/** The responses of an operation, as their messages have them. */
export function legacyResponse(operation: Operation, wire: WireType): WireType {
  if (operation !== 'getExtendedAgentCard') return wire;
  return { ...wire, encode: (json) => wire.encode(writeCard(json as AgentCard)) };
}

interface LengthJson {
  readonly historyLength?: number;
}

interface SendJson {
  readonly configuration?: LengthJson & { readonly blocking?: boolean };
}

/** Without a configuration nobody asked for an answer at once; with one, `false` is not written. */
function readSend(json: SendJson): SendJson {
  const { configuration } = json;
  if (configuration === undefined) return json;
  return {
    ...json,
    configuration: {
      ...readHistoryLength(configuration),
      blocking: configuration.blocking ?? false,
    },
  };
}

/** 0 is no limit here. */
function readHistoryLength<T extends LengthJson>(json: T): Omit<T, 'historyLength'> {
  if (json.historyLength !== 0) return json;
  const { historyLength: _, ...rest } = json;
  return rest;
}

function writeCard(card: AgentCard): object {
  return {
    ...card,
    security: card.securityRequirements,
    skills: card.skills.map((skill) => ({ ...skill, security: skill.securityRequirements })),
  };
}
