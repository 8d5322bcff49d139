import { signal } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { SavedTest, TestRunView, TestStepView } from '../../../src/http/inspector/model.ts';
import { get, path, post, reasonOf } from '../api/api.ts';
import { useLoaded } from '../api/resource.ts';
import { currentTalk, openContext } from '../talk/talks.ts';
import { Badge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { Empty, Problem } from '../ui/notice.tsx';
import { durationOf } from '../ui/text.ts';
import type { ConversationTurn } from './conversation-turns.ts';
import { e2eTest } from './e2e-test.ts';

/** The last run, kept while its conversation replaces the previous one. */
const lastRun = signal<TestRunView | undefined>(undefined);

interface TestsTabProps {
  readonly assistant: string;
  readonly turns: readonly ConversationTurn[];
}

/** The end-to-end tests of the project: runs one, and shows its result beside its conversation. */
export function TestsTab({ assistant, turns }: TestsTabProps) {
  const [running, setRunning] = useState('');
  const [refused, setRefused] = useState('');
  const { value: tests = [], problem } = useLoaded<readonly SavedTest[]>(
    () => get(path`assistants/${assistant}/tests`),
    [assistant],
  );
  const first = turns.find(({ number }) => number === 1);
  const run = async (key: string, test: SavedTest | { readonly yaml: string }): Promise<void> => {
    setRunning(key);
    setRefused('');
    try {
      const result = await post<TestRunView>(path`assistants/${assistant}/tests`, test);
      lastRun.value = result;
      // The conversation of an earlier run is no longer needed.
      const isTest = currentTalk()?.contextId.peek()?.startsWith('test-') === true;
      openContext(result.contextId, { agent: assistant, isBeside: !isTest });
    } catch (error) {
      setRefused(reasonOf(error));
    } finally {
      setRunning('');
    }
  };
  const files = Map.groupBy(tests, ({ file }) => file);
  return (
    <div class="tests-tab">
      <Problem text={problem || refused} />
      {lastRun.value !== undefined && <TestResult run={lastRun.value} />}
      {first !== undefined && (
        <section>
          <h3>This conversation</h3>
          <p class="soft">Runs its messages again, and compares responses and slots.</p>
          <Button
            icon="play"
            disabled={running !== ''}
            onClick={() => void run('this', { yaml: e2eTest(first.text, turns) })}
          >
            Run as a test
          </Button>
        </section>
      )}
      {tests.length === 0 && (
        <Empty icon="check" title="No saved tests">
          <p class="soft">
            Save a conversation with <em>Save as test</em>, and put the file into the project's{' '}
            <code>tests</code> folder.
          </p>
        </Empty>
      )}
      {[...files].map(([file, listed]) => (
        <section key={file}>
          <h3>{file}</h3>
          <ul class="test-list">
            {listed.map((test) => (
              <li key={test.name}>
                <span>{test.name}</span>
                <Button
                  kind="quiet"
                  icon="play"
                  label={`Run ${test.name}`}
                  disabled={running !== ''}
                  onClick={() => void run(`${file} ${test.name}`, test)}
                />
              </li>
            ))}
          </ul>
        </section>
      ))}
      {running !== '' && (
        <p class="faint pad" role="status">
          Running
        </p>
      )}
    </div>
  );
}

function TestResult({ run }: { readonly run: TestRunView }) {
  const { name, isPassed, durationMs, steps } = run;
  return (
    <section aria-label="Result" class="test-result">
      <h3>
        {name} <Badge tone={isPassed ? 'good' : 'bad'}>{isPassed ? 'passed' : 'failed'}</Badge>{' '}
        <span class="faint">{durationOf(durationMs)}</span>
      </h3>
      <ol class="test-steps">
        {steps.map((step, index) => (
          <StepResult key={index} step={step} />
        ))}
      </ol>
    </section>
  );
}

function StepResult({ step: { user, checks, failures } }: { readonly step: TestStepView }) {
  const isGood = failures.length === 0;
  return (
    <li>
      <p>
        <span class={isGood ? 'mark good' : 'mark bad'}>
          <Icon name={isGood ? 'check' : 'alert'} />
          <span class="hidden-label">{isGood ? 'passed' : 'failed'}</span>
        </span>{' '}
        <strong>{user}</strong>
      </p>
      {isGood && checks.length > 0 && <p class="faint">{checks.join(' · ')}</p>}
      {failures.map(({ expected, found }) => (
        <dl key={expected} class="test-failure">
          <dt>Expected</dt>
          <dd>{expected}</dd>
          <dt>Found</dt>
          <dd>{found.length === 0 ? 'no such event' : found.join('\n')}</dd>
        </dl>
      ))}
    </li>
  );
}
