import { Icon } from '../ui/icon.tsx';

/** The problems, one per line; or that there are none. */
export function ProblemList({ problems }: { readonly problems: readonly string[] }) {
  if (problems.length === 0) {
    return (
      <p class="verdict good">
        <Icon name="check" /> as the specification says
      </p>
    );
  }
  return (
    <ul class="verdict bad">
      {problems.map((problem) => (
        <li key={problem}>
          <Icon name="alert" /> <span>{problem}</span>
        </li>
      ))}
    </ul>
  );
}

/** The same as an icon. */
export function Mark({ isGood }: { readonly isGood: boolean }) {
  return (
    <span class={isGood ? 'mark good' : 'mark bad'}>
      <Icon name={isGood ? 'check' : 'alert'} />
      <span class="hidden-label">{isGood ? 'valid' : 'not valid'}</span>
    </span>
  );
}
