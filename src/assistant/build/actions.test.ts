import { expect, test } from 'vitest';
import { projectFolder } from '../../../test/support/greenhouse.ts';
import { loadProject } from '../project/load-project.ts';
import { actionsOf } from './actions.ts';

const remedy =
  /in Python.*start it with "python -m rasa_sdk --actions actions".*"action_endpoint: \{url: http:\/\/localhost:5055\/webhook\}" to endpoints\.yml/;

/** What runs the actions of a project with these files. */
async function actions(files: Readonly<Record<string, string>>) {
  await using folder = await projectFolder({
    'config.yml': 'assistant_id: shop\npipeline:\n  - name: MatchingCommandGenerator\n',
    'domain.yml': 'actions: [action_rate]\nresponses: {utter_hi: [{text: Hi}]}\n',
    'data/flows.yml':
      'flows:\n  hi:\n    description: Say hi.\n    steps:\n      - action: utter_hi\n',
    ...files,
  });
  const { project, problems } = await loadProject({ directory: folder.directory }, {});
  problems.throwIfErrors();
  return await actionsOf(project);
}

const endpoint = (text: string) => ({ 'endpoints.yml': `action_endpoint: {${text}}\n` });

test.each([
  ['a package', 'actions', 'actions/actions.py'],
  ['a module', 'actions', 'actions.py'],
  ['a file', './actions.py', 'actions.py'],
  ['a module of a package', 'my.actions', 'my/actions.py'],
])('actions_module that is %s of Python says how to run it', async (_, named, file) => {
  const loading = actions({ ...endpoint(`actions_module: ${named}`), [file]: 'pass\n' });
  await expect(loading).rejects.toThrow(
    new RegExp(
      remedy.source.replace('--actions actions', `--actions ${named.replace(/^\.\/|\.py$/g, '')}`),
    ),
  );
});

test('a folder actions in Python that nothing runs says how to run it', async () => {
  const loading = actions({ 'actions/__init__.py': '' });
  await expect(loading).rejects.toThrow(remedy);
  await expect(loading).rejects.toThrow(/actions\/__init__\.py:1:1: /);
  await expect(loading).rejects.not.toThrow('in place of');
});

test('actions in Python are fine where a server runs them, or where nothing calls one', async () => {
  const url = 'url: http://127.0.0.1:5055/webhook';
  const python = { 'actions/__init__.py': '' };
  expect((await actions({ ...endpoint(url), ...python }))?.has('action_rate')).toBe(true);
  const both = endpoint(`${url}, actions_module: actions`);
  expect((await actions({ ...both, ...python }))?.has('action_rate')).toBe(true);
  expect(
    await actions({ 'domain.yml': 'responses: {utter_hi: [{text: Hi}]}\n', ...python }),
  ).toBeUndefined();
});

test('a module that is not there is named', async () => {
  await expect(actions(endpoint('actions_module: actions'))).rejects.toThrow(
    'there is no module actions in the project',
  );
});
