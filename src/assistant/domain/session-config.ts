import type { Section } from '../../config/index.ts';
import type { SessionConfig } from '../model.ts';

/** `session_config:` with its defaults. */
export function readSessionConfig(section: Section | undefined): SessionConfig {
  const config: SessionConfig = {
    sessionExpirationTime: section?.number('session_expiration_time', { minimum: 0 }) ?? 60,
    carryOverSlotsToNewSession: section?.boolean('carry_over_slots_to_new_session') ?? true,
    startSessionAfterExpiry: section?.boolean('start_session_after_expiry') ?? true,
  };
  section?.finishLeniently();
  if (!config.startSessionAfterExpiry && !config.carryOverSlotsToNewSession) {
    section
      ?.get('carry_over_slots_to_new_session')
      ?.warn('has no effect: no new session starts', 'set start_session_after_expiry to true');
  }
  return config;
}
