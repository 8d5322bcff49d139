import { useEffect } from 'preact/hooks';
import type { LiveNotice } from '../../../src/http/inspector/model.ts';
import { onNotice } from './live.ts';

/** Calls back when something changed that concerns the view, for as long as it is shown. */
export function useNotice(concerns: (notice: LiveNotice) => boolean, onChange: () => void): void {
  useEffect(
    () =>
      onNotice((notice) => {
        if (concerns(notice)) onChange();
      }),
    [],
  );
}
