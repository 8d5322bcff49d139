import { readdirSync, readFileSync } from 'node:fs';

/** One step of the schema: a file `NNNN_name.sql`. */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The numbered .sql files of a folder, in order. */
export function readMigrationFiles(directory: URL): readonly Migration[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({
      version: Number.parseInt(name, 10),
      name: name.slice(0, -'.sql'.length),
      sql: readFileSync(new URL(name, directory), 'utf8'),
    }));
}
