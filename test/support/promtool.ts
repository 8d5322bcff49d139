import { existsSync } from 'node:fs';
import { installPackage } from './servers.ts';

const binary = '/usr/bin/promtool';

/** The path of promtool, which checks rules and configuration of Prometheus. Installed where it is missing. */
export function promtool(): string {
  if (!existsSync(binary)) {
    installPackage(
      'prometheus',
      'These tests need promtool: install it (Debian: apt-get install prometheus).',
    );
  }
  return binary;
}
