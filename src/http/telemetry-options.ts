import { present, type TelemetrySettings } from '../config/index.ts';
import { telemetryOptionsOf } from '../telemetry/index.ts';
import type { RouterOptions } from './options.ts';

/** What `telemetry:` of a project means for its server; without a name it reports as the project. */
export function telemetryOf(
  settings: TelemetrySettings | undefined,
  name: string,
): Pick<RouterOptions, 'telemetry' | 'prometheus'> {
  if (settings === undefined) return {};
  const { prometheus } = settings;
  return {
    telemetry: { serviceName: name, ...telemetryOptionsOf(settings) },
    ...(prometheus !== undefined && { prometheus: present(prometheus) }),
  };
}
