import { expect, test } from 'vitest';
import { agent, inputRequired } from '../agents/index.ts';
import { message } from '../protocol/index.ts';
import { openMemory } from '../store/index.ts';
import { anonymous, type Call, Engine } from './index.ts';

const call: Call = { caller: anonymous, version: '1.0' };

test('a message with a further configuration is refused at the limit, as a further configuration is', async () => {
  let turns = 0;
  const asking = agent({ name: 'asking' }, async function* () {
    turns += 1;
    yield inputRequired('?');
  });
  const push = {
    validate: () => undefined,
    redact: <T>(config: T) => config,
    wake: () => undefined,
  };
  const engine = await Engine.start({ agent: asking, store: openMemory(), push });
  const url = 'https://example.com/hook';
  const configuration = { taskPushNotificationConfig: { url } };
  const sent = await engine.send({ message: message('x'), configuration }, call);
  const taskId = 'task' in sent ? sent.task.value.id : '';
  for (let count = 1; count < 100; count += 1) {
    await engine.createPushConfig({ taskId, url, id: String(count) }, call);
  }
  const refused = { code: 'INVALID_PARAMS' };
  await expect(engine.createPushConfig({ taskId, url }, call)).rejects.toMatchObject(refused);
  const further = { message: message('y', { taskId }), configuration };
  await expect(engine.send(further, call)).rejects.toMatchObject(refused);
  expect(turns).toBe(1);
  const known = { taskPushNotificationConfig: { url, id: '1' } };
  await engine.send({ message: message('z', { taskId }), configuration: known }, call);
  expect(turns).toBe(2);
  expect((await engine.listPushConfigs({ taskId }, call)).configs).toHaveLength(100);
  await engine.stop();
});
