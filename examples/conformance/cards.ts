import type { AgentCapabilities } from '../../src/protocol/index.ts';

/**
 * What the card declares, by the name given to `--card`. No single card reaches every test of the
 * suites: some ask for a capability, others for the refusal that its absence brings.
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
