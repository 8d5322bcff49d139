import type { Caller } from '../../agents/index.ts';
import type { OwnerView } from './model.ts';

/** Who is behind an owner key; what is no such key is shown as it is. */
export function ownerView(key: string): OwnerView {
  let parts: unknown;
  try {
    parts = JSON.parse(key);
  } catch {
    // Not one of ours: the key alone has to do.
  }
  const [agent = '', tenant = '', subject = key] = Array.isArray(parts) ? parts.map(String) : [];
  return { key, agent, tenant, subject };
}

/** Acts for the owner: an operator may stop and follow what belongs to others. */
export function callerOf({ tenant, subject }: OwnerView): Caller {
  return { tenant, subject, method: 'operator' };
}
