import { checksPage } from './checks.ts';
import { cliPage } from './cli.ts';
import { configurationPage } from './configuration.ts';
import { rasaKeysPage } from './from-rasa.ts';
import { errorsPage } from './errors.ts';
import { eventsPage } from './events.ts';
import { telemetryPage } from './telemetry.ts';

const notice = '<!-- Written by `npm run reference` from the code: change it there. -->';

/** Every page of the reference, by the name of its file. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const pages = {
    'checks.md': checksPage(),
    'cli.md': cliPage(),
    'configuration.md': configurationPage(),
    'errors.md': errorsPage(),
    'events.md': eventsPage(),
    'rasa-keys.md': await rasaKeysPage(),
    'telemetry.md': telemetryPage(),
  };
  return new Map(Object.entries(pages).map(([name, text]) => [name, `${notice}\n\n${text}\n`]));
}
