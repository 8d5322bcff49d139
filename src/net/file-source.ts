import { readFileSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { errorCode, errorMessage, invalidConfiguration, LegateError } from '../protocol/index.ts';
import { type Logger, silentLogger } from '../telemetry/index.ts';
import { sleep } from '../time/index.ts';

/** What is read from files, and how. */
export interface FileSourceOptions<T> {
  /** For logs: `jwt keys`. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Reads and checks the files. Throws for files that can't be used. */
  readonly load: () => T;
  /** Given each value that was read again. */
  onReload?(value: T): void;
  readonly logger?: Logger | undefined;
  /** Milliseconds that the files are trusted without looking at them. @default 2_000 */
  readonly intervalMs?: number | undefined;
  /** Milliseconds in which changed files must not change again before they are read. @default 100 */
  readonly settleMs?: number | undefined;
  /** Monotonic, in milliseconds. @default performance.now */
  readonly now?: (() => number) | undefined;
}

/** What a look at the files found. */
export interface FileCheck {
  readonly what: string;
  /** Of keys that are fetched: their address. */
  readonly paths: readonly string[];
  readonly outcome: 'unchanged' | 'reloaded' | 'failed';
  /** Why changed files can't be used. */
  readonly error?: string;
}

/** Writers that never stop must not keep callers waiting. */
const maxSettleLooks = 10;

/** What `checkFiles` looks at. */
interface CheckedSource {
  /** Never rejects. */
  check(): Promise<FileCheck>;
}

/** Those of the process that are still in use. */
const sources = new Set<WeakRef<CheckedSource>>();

/**
 * Makes `checkFiles` look at a source of another kind, too, until it is no longer in use.
 * @example includeInChecks(keysOfIssuer);
 */
export function includeInChecks(source: CheckedSource): void {
  sources.add(new WeakRef(source));
}

/**
 * A value read from files, read again when they change: keys and certificates that rotate. Nothing is
 * polled: `current` looks at the files at most once per interval.
 *
 * - **loaded**: `current` is what the files say.
 * - **changed**: the files differ from those that were loaded. They are read once they have not changed
 *   for `settleMs`, so that a file that is being written is not taken for a complete one.
 * - **outdated**: the changed files can't be used, or are gone. The last good value stays in use and one
 *   error is logged. Each look reads them again: the failure may have been the machine's, as too many open
 *   files.
 */
export class FileSource<T> {
  readonly #options: FileSourceOptions<T>;
  readonly #now: () => number;
  #value: T;
  /** Of the files that were last read, whether or not they could be used. */
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
    // Taken before reading: what changes in between is found by the next look.
    this.#signature = options.paths.map(signatureSync).join('\n');
    this.#value = options.load();
    includeInChecks(this);
  }

  /** The value of the last look, which may be an interval old. */
  get last(): T {
    return this.#value;
  }

  async current(): Promise<T> {
    const { intervalMs = 2_000 } = this.#options;
    if (this.#now() - this.#lookedAt >= intervalMs) await this.check();
    return this.#value;
  }

  /** Looks at the files now. Never rejects: what can't be used is logged. */
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
 * Looks at all files of the process that are read again when they change, fetches keys from their addresses,
 * and says what became of each.
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
 * The text of a small file that configuration names. Throws `CONFIGURATION_INVALID` with the path.
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
