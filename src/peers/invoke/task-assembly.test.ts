import { expect, test } from 'vitest';
import type { Artifact, StreamResponse } from '../../protocol/index.ts';
import { TaskAssembly } from './task-assembly.ts';

const ids = { taskId: 't', contextId: 'c' };

function update(artifact: Partial<Artifact> & Pick<Artifact, 'parts'>, append = true) {
  return { artifactUpdate: { ...ids, artifact: { artifactId: 'a', ...artifact }, append } };
}

const completed: StreamResponse = {
  statusUpdate: { ...ids, status: { state: 'TASK_STATE_COMPLETED' } },
};

function assembled(...events: readonly StreamResponse[]): TaskAssembly {
  const assembly = new TaskAssembly();
  for (const event of events) assembly.add(event);
  return assembly;
}

test('a streamed answer is one text with the metadata of all its chunks', () => {
  const { response, isOver } = assembled(
    update({ name: 'poem', parts: [{ text: 'Roses ' }], metadata: { model: 'm' } }, false),
    update({ parts: [{ text: 'are red' }], metadata: { tokens: 4 } }),
    completed,
  );
  expect(isOver).toBe(true);
  expect(response).toEqual({
    task: {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [
        {
          artifactId: 'a',
          name: 'poem',
          parts: [{ text: 'Roses are red' }],
          metadata: { model: 'm', tokens: 4 },
        },
      ],
    },
  });
});

test('a later snapshot replaces the artifacts that it names and keeps the others', () => {
  const { response } = assembled(
    update({ parts: [{ text: 'draft' }] }, false),
    update({ artifactId: 'b', parts: [{ text: 'kept' }] }, false),
    {
      task: {
        id: 't',
        contextId: 'c',
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'a', parts: [{ text: 'final' }] }],
      },
    },
  );
  expect(response).toMatchObject({
    task: { artifacts: [{ parts: [{ text: 'kept' }] }, { parts: [{ text: 'final' }] }] },
  });
});

test('there is no answer before a status, and a plain message is one', () => {
  const opened = assembled(update({ parts: [{ text: 'x' }] }, false));
  expect(opened.ids).toEqual({ id: 't', contextId: 'c' });
  expect(opened.response).toBeUndefined();
  expect(opened.isOver).toBe(false);
  const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } as const;
  expect(assembled({ message })).toMatchObject({ response: { message }, isOver: true });
});
