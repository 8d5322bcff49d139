import { apiPage } from './api.ts';
import { checksPage } from './checks.ts';
import { cliPage } from './cli.ts';
import { configurationPage } from './configuration.ts';
import { rasaKeysPage } from './from-rasa.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { alertRules, telemetryPage } from './telemetry.ts';

const notice = '<!-- Written by `npm run reference` from the code: change it there. -->';

/** Every page of the reference, by the name of its file. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const pages = {
    'api.md': apiPage(),
    'checks.md': checksPage(),
    'cli.md': cliPage(),
    'configuration.md': configurationPage(),
    'errors.md': errorsPage(),
    'events.md': eventsPage(),
    'rasa-keys.md': await rasaKeysPage(),
    'telemetry.md': telemetryPage(),
  };
  const marked = Object.entries(pages).map(
    ([name, text]) => [name, `${notice}\n\n${text}\n`] as const,
  );
  return new Map([...marked, ['alerts.yml', alertRules()]]);
}
