import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shellPath } from '../../test/support/shells.ts';
import { legate, patient } from './testing/legate-process.ts';
import { completedCommands } from './completion.ts';

type Shell = 'bash' | 'fish' | 'zsh';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'legate-completion-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The words that a shell offers for the end of a line, with the script of a command in it. */
type Offers = (line: string) => readonly string[];

function run(shell: Shell, args: readonly string[]): readonly string[] {
  const env = { PATH: process.env['PATH'], HOME: folder, ZDOTDIR: folder, TERM: 'dumb' };
  const options = { encoding: 'utf8', cwd: folder, env, timeout: 120_000 } as const;
  const out = execFileSync(shellPath(shell), args, options);
  return out
    .split('\n')
    .map((line) => line.split('\t', 1)[0] ?? '')
    .filter((word) => word !== '')
    .sort();
}

/** Bash tells its function the words in variables. */
function inBash(file: string): Offers {
  return (line) => {
    const words = line.split(' ').map((word) => `'${word}'`);
    const typed = `COMP_WORDS=(${words.join(' ')}); COMP_CWORD=${words.length - 1}`;
    const script = `source ${file}\n${typed}\n_legate\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
    return run('bash', ['--norc', '-c', script]);
  };
}

/** Fish can be asked what it would offer. */
function inFish(file: string): Offers {
  return (line) => run('fish', ['--no-config', '-c', `source ${file}; complete -C '${line}'`]);
}

/** Zsh completes only where somebody types: on a terminal of its own, with the Tab key. */
function inZsh(file: string): Offers {
  const driver = join(folder, 'driver.zsh');
  writeFileSync(driver, zshDriver);
  return (line) => {
    const directory = mkdtempSync(join(folder, 'typed-'));
    return run('zsh', ['-f', driver, file, line, directory]);
  };
}

/** Notes what is added to the list of matches, which is what would be shown. */
const zshDriver = `
zmodload zsh/zpty
cat > $3/setup <<END
PS1=; stty -echo
zstyle ':completion:*' verbose no
autoload -Uz compinit; compinit -u -d $3/dump
source $1
compadd() {
  if [[ \\\${@[1,(i)(-|--)]} == *-(O|A|D)\\ * ]]; then builtin compadd "\\$@"; return; fi
  local -a hits; builtin compadd -A hits "\\$@"; print -rl -- \\$hits >> $3/hits
}
complete-all() { zle complete-word; : > $3/done }
zle -N complete-all; bindkey '^I' complete-all
: > $3/ready
END
zpty inner zsh -f -i
zpty -w inner "source $3/setup"
until [[ -e $3/ready ]]; do zpty -r -t inner seen; sleep 0.02; done
zpty -w -n inner "$2"$'\\t'
until [[ -e $3/done ]]; do zpty -r -t inner seen; sleep 0.02; done
zpty -d inner
[[ ! -e $3/hits ]] || cat $3/hits
`;

describe.each([
  ['bash', inBash],
  ['fish', inFish],
  ['zsh', inZsh],
] as const)('%s', (shell, driven) => {
  let offers: Offers;
  let script: string;
  beforeAll(async () => {
    const { code, out } = await legate(['completion', shell]);
    expect(code).toBe(0);
    script = out;
    const file = join(folder, `legate.${shell}`);
    writeFileSync(file, out);
    mkdirSync(join(folder, 'project'), { recursive: true });
    offers = driven(file);
  }, 180_000);

  test('CLI_002: commands, their commands, flags and values are completed', patient, () => {
    expect(offers('legate se')).toEqual(['send']);
    expect(offers('legate task push-config ')).toEqual([
      'create',
      'delete',
      'get',
      'list',
      'listen',
    ]);
    expect(offers('legate send --as')).toEqual(['--async']);
    expect(offers('legate check --format ')).toEqual(['html', 'json', 'text']);
    expect(offers('legate completion --')).toEqual(['--help']);
  });

  test('CLI_002: subcommands with the same name and aliases are completed', patient, () => {
    // "list" by itself has the flags of calls.
    expect(offers('legate push list --')).toContain('--store');
    expect(offers('legate push list --')).not.toContain('--bearer');
    expect(offers('legate list --be')).toEqual(['--bearer']);
    expect(offers('legate chat --trans')).toEqual(['--transport']);
  });

  test('CLI_002: where nothing else is meant, files are', patient, () => {
    expect(offers('legate validate pro').map((path) => path.replace(/\/$/, ''))).toEqual([
      'project',
    ]);
  });

  test('CLI_002: every command and flag is in the script', () => {
    for (const { commands, flags } of completedCommands()) {
      for (const { word } of [...commands, ...flags]) expect(script).toContain(word);
    }
  });
});

test('an unknown shell is wrong usage', patient, async () => {
  const { code, err } = await legate(['completion', 'tcsh']);
  expect(code).toBe(2);
  expect(err).toContain('bash, zsh, fish');
});
