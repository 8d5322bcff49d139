import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { errorCode, errorMessage, invalidConfiguration, LegateError } from '../protocol/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { sleep } from '../time/index.ts';

/** The files of a source, and how they are read. */
export interface FileSourceOptions<T> {
  /** The name of the files in logs: `jwt keys`. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Reads and checks the files. Throws for files that can't be used. */
  readonly load: () => T;
  /** Called with each reloaded value. */
  onReload?(value: T): void;
  readonly logger?: Logger | undefined;
  /** Interval in which the files are checked at most once, in milliseconds. @default 2_000 */
  readonly intervalMs?: number | undefined;
  /** How long changed files must stay the same before they are read, in milliseconds. @default 100 */
  readonly settleMs?: number | undefined;
  /** Monotonic, in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** The result of a check of files. */
export interface FileCheck {
  readonly what: string;
  /** For fetched keys: their URL. */
  readonly paths: readonly string[];
  readonly outcome: 'unchanged' | 'reloaded' | 'failed';
  /** Why changed files can't be used. */
  readonly error?: string;
}

/** Bounds the wait for files that keep changing. */
const maxSettleLooks = 10;

/** A source that `checkFiles` checks. */
interface CheckedSource {
  /** Never rejects. */
  check(): Promise<FileCheck>;
}

/** The sources of the process that are still in use. */
const sources = new Set<WeakRef<CheckedSource>>();

/**
 * Adds a source of another kind to `checkFiles`, for as long as it is in use.
 * @example includeInChecks(keysOfIssuer);
 */
export function includeInChecks(source: CheckedSource): void {
  sources.add(new WeakRef(source));
}

/**
 * A value that is read from files, and read again when they change: keys and certificates that rotate.
 * There is no polling: `current` checks the files at most once per interval.
 *
 * - **loaded**: `current` is the content of the files.
 * - **changed**: the files differ from those that were loaded. They are read once they have not changed
 *   for `settleMs`, because a program may still be writing them.
 * - **outdated**: the changed files can't be used, or are missing. The last good value stays in use and
 *   one error is logged. Each check reads the files again: the cause may have been temporary, such as
 *   too many open files.
 */
export class FileSource<T> {
  readonly #options: FileSourceOptions<T>;
  readonly #now: () => number;
  #value: T;
  /** Identifies the files that were last read, whether or not they could be used. */
  #signature: string;
  #lookedAt: number;
  /** Why the files can't be used; undefined while they can. */
  #failure: string | undefined;
  #checking: Promise<FileCheck> | undefined;

  /** Throws what `load` throws. */
  constructor(options: FileSourceOptions<T>) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    this.#lookedAt = this.#now();
    // Taken before reading: the next check finds changes made in between.
    this.#signature = options.paths.map(signatureSync).join('\n');
    this.#value = options.load();
    includeInChecks(this);
  }

  /** The value of the last check, which can be an interval old. */
  get last(): T {
    return this.#value;
  }

  async current(): Promise<T> {
    const { intervalMs = 2_000 } = this.#options;
    if (this.#now() - this.#lookedAt >= intervalMs) await this.check();
    return this.#value;
  }

  /** Checks the files now. Never rejects: unusable files are logged. */
  check(): Promise<FileCheck> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<FileCheck> {
    const { what, paths, load, logger = silentLogger } = this.#options;
    const signature = await this.#settled();
    this.#lookedAt = this.#now();
    const isUnchanged = signature === this.#signature;
    if (isUnchanged && this.#failure === undefined) return { what, paths, outcome: 'unchanged' };
    this.#signature = signature;
    try {
      this.#value = load();
      this.#options.onReload?.(this.#value);
    } catch (thrown) {
      const error = errorMessage(thrown);
      if (!isUnchanged || error !== this.#failure) {
        logger.error({ audit: 'action', what, paths, error }, 'files.reload_failed');
      }
      this.#failure = error;
      return { what, paths, outcome: 'failed', error };
    }
    this.#failure = undefined;
    logger.info({ audit: 'action', what, paths }, 'files.reloaded');
    return { what, paths, outcome: 'reloaded' };
  }

  async #settled(): Promise<string> {
    const { paths, settleMs = 100 } = this.#options;
    const look = async (): Promise<string> =>
      (await Promise.all(paths.map(signatureOf))).join('\n');
    let seen = await look();
    for (let looks = 0; seen !== this.#signature && looks < maxSettleLooks; looks += 1) {
      await sleep(settleMs);
      const again = await look();
      if (again === seen) break;
      seen = again;
    }
    return seen;
  }
}

/**
 * Checks all files of the process that are read again when they change, fetches keys from their URLs, and
 * returns the result of each check.
 * @example process.on('SIGHUP', () => void checkFiles());
 */
export async function checkFiles(): Promise<readonly FileCheck[]> {
  const live = [...sources].flatMap((reference) => {
    const source = reference.deref();
    if (source === undefined) sources.delete(reference);
    return source === undefined ? [] : [source];
  });
  return Promise.all(live.map((source) => source.check()));
}

async function signatureOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(identityOf, () => 'missing');
}

function signatureSync(path: string): string {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? 'missing' : identityOf(found);
}

/** A rename changes the inode, a write in place the times. Symbolic links are followed. */
function identityOf(found: {
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}): string {
  return [found.ino, found.size, found.mtimeNs, found.ctimeNs].join(' ');
}

/** Keys and certificates are small; a larger file is a mistake. */
const maxFileBytes = 1024 * 1024;

/**
 * Reads a small file that the configuration names. Throws `CONFIGURATION_INVALID` with the path.
 * @example const pem = readConfiguredFile('/run/secrets/jwt.pem', 'the public key file');
 */
export function readConfiguredFile(path: string, what: string): string {
  const refuse = (why: string, cause?: unknown): LegateError =>
    invalidConfiguration(`${what} ${path} ${why}`, cause);
  try {
    const found = statSync(path);
    if (!found.isFile()) throw refuse('is not a file');
    if (found.size > maxFileBytes) throw refuse('is larger than 1 MiB');
    return readFileSync(path, 'utf8');
  } catch (cause) {
    if (cause instanceof LegateError) throw cause;
    const code = errorCode(cause);
    throw refuse(
      code === 'ENOENT'
        ? "doesn't exist; check the path"
        : code === 'EACCES'
          ? "can't be read; check its permissions"
          : "can't be read",
      cause,
    );
  }
}
