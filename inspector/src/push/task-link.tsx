import { hrefOf } from '../app/route.ts';

/** To a task. Ids begin with the time, so tasks of one minute begin alike: their ends tell them apart. */
export function TaskLink({ id }: { readonly id: string }) {
  return (
    <a href={hrefOf({ view: 'tasks', id })} title={id}>
      task …{id.slice(-6)}
    </a>
  );
}
