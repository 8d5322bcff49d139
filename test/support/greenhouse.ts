import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A project with a little of everything, small enough to be read at a glance. */
const greenhouse: Readonly<Record<string, string>> = {
  'config.yml': `
recipe: default.v1
language: en
assistant_id: greenhouse
pipeline:
  - name: MatchingCommandGenerator
`,
  'domain.yml': `
version: "3.1"
session_config:
  session_expiration_time: 60
  start_session_after_expiry: false
actions:
  - action_water
  - action_report
  - action_pump
  - action_wait
slots:
  plant: {type: text}
  litres: {type: float}
  shade: {type: categorical, values: [low, high]}
  watered: {type: float, initial_value: 0, mappings: [{type: controlled}]}
responses:
  utter_ask_plant:
    - text: Which plant?
  utter_ask_litres:
    - text: How many litres?
  utter_too_much:
    - text: That would drown it.
  utter_watered:
    - text: "{plant} got {litres} litres."
  utter_ask_shade:
    - text: How much shade?
      buttons:
        - {title: Little, payload: /SetSlots(shade=low)}
        - {title: Much, payload: /SetSlots(shade=high)}
  utter_shaded:
    - text: The shade is {shade}.
`,
  'data/flows.yml': `
flows:
  water_plants:
    name: watering
    description: Water a plant.
    persisted_slots: [plant]
    steps:
      - collect: plant
        description: the name of the plant
      - collect: litres
        description: how many litres
        rejections:
          - if: slots.litres > 100
            utter: utter_too_much
      - action: action_water
      - action: utter_watered
  set_shade:
    name: shading
    description: Set the shade of the roof.
    steps:
      - collect: shade
      - action: utter_shaded
  growth_report:
    name: growth report
    description: Report how everything grows.
    steps:
      - action: action_report
  start_pump:
    name: pump
    description: Start the pump.
    steps:
      - action: action_pump
  wait_for_rain:
    name: rain
    description: Wait for the rain.
    steps:
      - action: action_wait
`,
  'endpoints.yml': `
a2a_server:
  description: Looks after a greenhouse.
store: {type: memory}
`,
};

export interface ProjectFolder extends AsyncDisposable {
  readonly directory: string;
  path(name: string): string;
  write(files: Readonly<Record<string, string>>): Promise<void>;
}

/** The greenhouse project in a new folder, with replaced or additional files. */
export async function greenhouseFolder(
  files: Readonly<Record<string, string>> = {},
): Promise<ProjectFolder> {
  return projectFolder({ ...greenhouse, ...files });
}

export async function projectFolder(
  files: Readonly<Record<string, string>>,
): Promise<ProjectFolder> {
  const directory = await mkdtemp(join(tmpdir(), 'legate-project-'));
  const path = (name: string): string => join(directory, name);
  const write = async (more: Readonly<Record<string, string>>): Promise<void> => {
    for (const [name, text] of Object.entries(more)) {
      await mkdir(dirname(path(name)), { recursive: true });
      await writeFile(path(name), text);
    }
  };
  await write(files);
  return {
    directory,
    path,
    write,
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  };
}
