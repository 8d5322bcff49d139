import { DatabaseSync } from 'node:sqlite';

/** The SQLite files of this process, as long as they are open. */
const databases = new Set<DatabaseSync>();
const exec: (this: DatabaseSync, sql: string) => void = Reflect.get(DatabaseSync.prototype, 'exec');
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  databases.add(this);
  exec.call(this, sql);
};

/** The most pages a file may have. */
const mostPages = 4_294_967_294;

/**
 * Fills the disk under the SQLite files of this process, or frees it: files can grow no more, and
 * SQLite answers as it does when the disk is full. Load it before a file is opened.
 */
export function setDiskFull(isFull: boolean): void {
  for (const database of databases) {
    if (!database.isOpen) {
      databases.delete(database);
      continue;
    }
    const { page_count: pages } = database.prepare('PRAGMA page_count').get() as {
      page_count: number;
    };
    exec.call(database, `PRAGMA max_page_count = ${isFull ? Math.max(1, pages) : mostPages}`);
  }
}
