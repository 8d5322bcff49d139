import type { AgentCapabilities } from '../../src/protocol/index.ts';

/**
 * The capabilities of the card, by the name given to `--card`. No single card covers every test of the
 * suites: some need a capability, others the error that its absence causes.
 */
export const cards = {
  full: { streaming: true, pushNotifications: true, extendedAgentCard: true },
  'no-push': { streaming: true, pushNotifications: false, extendedAgentCard: false },
  minimal: { streaming: false, pushNotifications: false, extendedAgentCard: false },
  'required-extension': {
    streaming: true,
    pushNotifications: false,
    extendedAgentCard: false,
    extensions: [
      {
        uri: 'urn:a2a:tck:required-extension',
        description: 'Has no meaning; clients must ask for it.',
        required: true,
      },
    ],
  },
} as const satisfies Record<string, AgentCapabilities>;

export type CardName = keyof typeof cards;

export const cardNames = Object.keys(cards) as readonly CardName[];
