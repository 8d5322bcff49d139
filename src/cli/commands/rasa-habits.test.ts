import { expect, test } from 'vitest';
import { fromRasa } from './rasa-habits.ts';

test.each([
  ['data validate --fail-on-warnings', 'validate --fail-on-warnings'],
  ['data validate -vv', 'validate'],
  ['data validate flows -d domain', 'validate -d domain'],
  ['run -v', 'run --log-level info'],
  ['run --enable-api --debug --cors *', 'run --enable-api --log-level debug --cors *'],
  ['run -vv -c config/a.yml -d domain', 'run --log-level debug -c config/a.yml -d domain'],
  ['shell --debug --conversation-id ada', 'shell --log-level debug --debug --sender ada'],
  [
    'test e2e tests --e2e-results',
    'test e2e tests --output-results tests --results-prefix e2e_results_',
  ],
  [
    'test e2e tests --e2e-results out --quiet',
    'test e2e tests --output-results out --results-prefix e2e_results_ --log-level error',
  ],
  [
    'test e2e tests --e2e-results=out',
    'test e2e tests --output-results out --results-prefix e2e_results_',
  ],
])('%s is read as %s', (typed, read) => {
  expect(fromRasa(typed.split(' '))).toEqual({ args: read.split(' ') });
});

test('options of Rasa without a counterpart are left out with one warning', () => {
  expect(fromRasa('train --force --num-threads 4 -c a.yml'.split(' '))).toEqual({
    args: ['train', '-c', 'a.yml'],
    warning: 'no effect here: --force, --num-threads',
  });
});

test.each(['train nlu -c a.yml', 'train core -c a.yml'])('%s trains everything', (typed) => {
  const [, part] = typed.split(' ');
  expect(fromRasa(typed.split(' '))).toEqual({
    args: ['train', '-c', 'a.yml'],
    warning: `no effect here: ${part}`,
  });
});

test.each(['telemetry disable', 'license', 'test nlu --nlu data'])(
  '%s has nothing to do',
  (typed) => {
    expect(fromRasa(typed.split(' '))).toMatchObject({
      warning: expect.stringMatching(/^nothing to do: /),
      exitCode: 0,
    });
  },
);

test.each(['interactive', 'visualize --out a.html', 'data split nlu', 'x', 'llm finetune'])(
  '%s names what to use',
  (typed) => {
    expect(fromRasa(typed.split(' '))).toMatchObject({
      warning: expect.stringMatching(/^there is no command ".*": /),
      exitCode: 2,
    });
  },
);

test('the module of `run actions` is left out', () => {
  expect(fromRasa('run actions --actions actions -p 5055'.split(' '))).toEqual({
    args: ['run', 'actions', '-p', '5055'],
    warning: 'no effect here: --actions',
  });
});

test.each(['init x --force', 'send http://a hello --debug', '-v', 'data', 'doctor'])(
  '%s is not changed',
  (typed) => {
    expect(fromRasa(typed.split(' '))).toEqual({ args: typed.split(' ') });
  },
);
