import type { Command } from 'commander';
import * as agents from './agents.ts';
import * as assistants from './assistants.ts';
import * as operations from './operations.ts';
import * as tasks from './tasks.ts';
import * as workers from './workers.ts';

/** The heading of commands that call agents; they report failures as the A2A CLI specification requires. */
const callingAgents = 'Any A2A agent:';

/** Every command of `legate`, in the order of its help. */
export function catalogue(): readonly Command[] {
  const groups: Readonly<Record<string, readonly Command[]>> = {
    'Assistants:': [
      assistants.initCommand(),
      assistants.runCommand(),
      assistants.devCommand(),
      assistants.shellCommand(),
      assistants.inspectCommand(),
      assistants.validateCommand(),
      assistants.trainCommand(),
      assistants.testCommand(),
    ],
    'Agents on RabbitMQ:': [
      workers.workCommand(),
      workers.gatewayCommand(),
      workers.callCommand(),
      workers.peersCommand(),
      workers.trustCommand(),
      workers.busCommand(),
    ],
    [callingAgents]: [
      agents.sendCommand(),
      agents.cardCommand(),
      tasks.getCommand(),
      tasks.listCommand(),
      tasks.cancelCommand(),
      tasks.subscribeCommand(),
      tasks.taskCommand(),
      agents.checkCommand(),
      agents.authCommand(),
      agents.configCommand(),
    ],
    'Operations:': [
      assistants.doctorCommand(),
      operations.pushCommand(),
      operations.storeCommand(),
      operations.dbCommand(),
      operations.helloCommand(),
      operations.completionCommand(),
    ],
  };
  return Object.entries(groups).flatMap(([group, commands]) =>
    commands.map((command) => command.helpGroup(group)),
  );
}

/** Whether the command reports failures as the A2A CLI specification requires. */
export function callsAgents(command: Command): boolean {
  return command.helpGroup() === callingAgents && command.name() !== 'config';
}
