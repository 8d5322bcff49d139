import { join } from 'node:path';
import { company, deploy, goModule, output, python } from './tools.ts';

/** Validates the Compose files against the schema of the Compose specification. */
export async function checkCompose(): Promise<string> {
  const schemas = goModule('github.com/compose-spec/compose-go/v2', 'v2.9.1');
  const validate = join(import.meta.dirname, 'validate.py');
  const schema = join(schemas, 'schema/compose-spec.json');
  for (const folder of [deploy, company]) {
    output(python(), [validate, 'schema', schema, join(folder, 'compose.yml')]);
  }
  return 'both files are valid by the Compose specification';
}
