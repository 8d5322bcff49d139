const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'it is not writable',
  ENOSPC: 'there is no space left',
  EDQUOT: 'there is no space left',
  ENOENT: 'no such file or folder',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  EMFILE: 'too many files are open',
};

/** An error of the operating system in one line; undefined for other errors. */
export function systemFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  if (code === undefined || path === undefined || syscall === undefined) return undefined;
  const reason = Object.hasOwn(reasons, code) ? reasons[code] : undefined;
  return reason === undefined
    ? undefined
    : `${path}: ${reason} (${syscall}); choose another path, or fix its permissions`;
}
