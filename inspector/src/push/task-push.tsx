import { Attempts } from './attempts.tsx';
import { Configs } from './configs.tsx';
import { Deliveries } from './deliveries.tsx';

/** The webhooks of one task. */
export function TaskPush({ taskId }: { readonly taskId: string }) {
  return (
    <div class="pad">
      <h3>Registered</h3>
      <Configs taskId={taskId} />
      <h3>Owed</h3>
      <Deliveries taskId={taskId} />
      <h3>Called</h3>
      <Attempts taskId={taskId} />
    </div>
  );
}
