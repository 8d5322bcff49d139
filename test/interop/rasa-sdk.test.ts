import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { legate, patient, start } from '../../src/cli/testing/legate-process.ts';
import { projectFolder } from '../support/greenhouse.ts';
import { freePort } from '../support/servers.ts';
import { rasaSdk } from './peers.ts';

const version = '3.21.1';
let sdk: Awaited<ReturnType<typeof rasaSdk>>;
beforeAll(async () => {
  sdk = await rasaSdk(version);
  if (typeof sdk === 'string') console.error(`skipped: ${sdk}`);
}, 900_000);

const files = {
  'config.yml': 'recipe: default.v1\nlanguage: en\nassistant_id: bakery\npipeline: []\n',
  'domain.yml': `
actions: [action_price, action_hours, action_fail, action_wrap]
slots:
  loaves: {type: float}
  price: {type: float, mappings: [{type: controlled}]}
responses:
  utter_ask_loaves: [{text: How many loaves?}]
  utter_price: [{text: "{loaves} loaves are {price} euros."}]
`,
  'data/flows.yml': `
flows:
  order_bread:
    description: Order bread.
    nlu_trigger: [{intent: order_bread}]
    steps:
      - collect: loaves
      - action: action_price
      - action: action_hours
  fail:
    description: Fail.
    nlu_trigger: [{intent: fail}]
    steps:
      - action: action_fail
`,
  'endpoints.yml': 'action_endpoint: {actions_module: actions}\n',
  'actions/__init__.py': '',
  '.env': 'CURRENCY=euros # of the bakery\n',
  'actions/price.py': `
import os
from dotenv import load_dotenv
from rasa_sdk import Action
from rasa_sdk.events import SlotSet
from .db import remember

load_dotenv()

class ActionPrice(Action):
    def name(self):
        return "action_price"

    def run(self, dispatcher, tracker, domain):
        price = 2 * tracker.get_slot("loaves")
        assert "utter_price" in domain["responses"]
        print("priced", remember(price), os.environ["CURRENCY"])
        dispatcher.utter_message(response="utter_price", price=price)
        return [SlotSet("price", price)]
`,
  // As the template of `rasa init` does, without the package rasa.
  'actions/db.py': `
from rasa.nlu.utils import write_json_to_file
from rasa.shared.utils.io import read_json_file

def remember(price):
    write_json_to_file("price.json", {"price": price})
    return read_json_file("price.json")["price"]
`,
  'actions/agent.py': `
from typing import List, Optional
from rasa.agents.protocol.mcp.mcp_open_agent import MCPOpenAgent
from rasa.agents.schemas import AgentInput, AgentOutput
from rasa.engine.recipes.default_recipe import DefaultV1Recipe
from rasa_sdk import Action

@DefaultV1Recipe.register([DefaultV1Recipe.ComponentType.MESSAGE_TOKENIZER], is_trainable=False)
class Agent(MCPOpenAgent):
    async def run(self, given: Optional[AgentInput]) -> List[AgentOutput]:
        return []

class ActionFail(Action):
    def name(self):
        return "action_fail"

    def run(self, dispatcher, tracker, domain):
        return AgentInput(id="1").as_dict()
`,
  'actions/index.ts': `
export const hours = {
  name: 'action_hours',
  run: async ({ slots, utter }) => void utter('Ready at ten, for ' + slots.price + ' euros.'),
};
`,
  'tests/order.yml': `
test_cases:
  - test_case: order
    steps:
      - user: /order_bread
      - utter: utter_ask_loaves
      - user: /SetSlots(loaves=3)
      - slot_was_set: [{price: 6}]
      - bot: Ready at ten, for 6 euros.
`,
};

/** The project with the virtual environment as its own. */
async function bakery(path: string) {
  const folder = await projectFolder(files);
  symlinkSync(path, join(folder.directory, '.venv'));
  return folder;
}

test(
  `shell runs Python actions with rasa-sdk ${version}, beside one in TypeScript`,
  patient,
  async ({ skip }) => {
    if (typeof sdk === 'string') return skip(sdk);
    await using folder = await bakery(sdk.path);
    const { directory } = folder;
    const input = '/order_bread\n/SetSlots(loaves=3)\n/fail\n';
    const args = ['shell', '--log-level', 'info'];
    const { out, err, code } = await legate(args, { directory, input });
    expect({ out, code }, err).toMatchObject({ code: 0 });
    expect(out).toContain('3 loaves are 6 euros.\nReady at ten, for 6 euros.');
    expect(err).toContain('"line":"priced 6 euros"');
    expect(err).toMatch(
      /"actions":\["action_wrap"\].*"action\.server\.actions_missing"|action\.server\.actions_missing.*action_wrap/,
    );
    expect(err).toContain('rasa.agents.schemas.AgentInput needs rasa, which is not installed');
    expect(err).toContain(
      'rasa.agents.schemas.AgentInput.as_dict needs the package rasa, which is not installed',
    );
    return undefined;
  },
);

test('test e2e runs Python actions', patient, async ({ skip }) => {
  if (typeof sdk === 'string') return skip(sdk);
  await using folder = await bakery(sdk.path);
  const { directory } = folder;
  const { out, err, code } = await legate(['test', 'e2e', 'tests'], { directory });
  expect({ out, err, code }).toMatchObject({ out: expect.stringContaining('1 passed'), code: 0 });
  return undefined;
});

test('run serves Python actions and stops their server', patient, async ({ skip }) => {
  if (typeof sdk === 'string') return skip(sdk);
  await using folder = await bakery(sdk.path);
  const port = await freePort();
  const args = ['run', '-p', String(port), '--log-level', 'info'];
  const running = start(args, { directory: folder.directory });
  await expect.poll(() => running.out + running.err, { timeout: 60_000 }).toContain('Stop: Ctrl+C');
  const say = async (message: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/webhooks/rest/webhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ sender: 'ada', message }),
    });
    return (await response.json()) as { text: string }[];
  };
  await say('/order_bread');
  expect((await say('/SetSlots(loaves=4)')).map(({ text }) => text)).toContain(
    '4 loaves are 8 euros.',
  );
  const url =
    /"url":"(http:[^"]+)"[^\n]*action\.server\.ready|action\.server\.ready[^\n]*"url":"(http:[^"]+)"/.exec(
      running.err,
    );
  const server = url?.[1] ?? url?.[2] ?? '';
  expect((await fetch(`${server}/health`)).status).toBe(200);
  running.child.kill('SIGTERM');
  expect((await running.ended).code).toBe(0);
  await expect(fetch(`${server}/health`)).rejects.toThrow();
  return undefined;
});
