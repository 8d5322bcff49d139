import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { deploy, goModule, helm, output, python } from './tools.ts';

const chart = join(deploy, 'helm/legate');
const secret = ['--set', 'secret.existing=legate'];
/** The version of the schemas that validate the objects. */
const kubernetes = ['--kube-version', '1.33.0'];

/** Values that switch every object of the chart on and off. */
const variants: Readonly<Record<string, readonly string[]>> = {
  defaults: secret,
  'own secret': ['--set', 'secret.values.DATABASE_URL=postgres://db/legate'],
  'fixed replicas': [
    ...secret,
    '--set',
    'autoscaling.enabled=false',
    '--set',
    'podDisruptionBudget.enabled=false',
    '--set',
    'networkPolicy.enabled=false',
  ],
  'pods of a cluster with its own rules': [
    ...secret,
    '--set-json',
    'pod={"nodeSelector":{"pool":"agents"},"tolerations":[{"key":"agents","operator":"Exists"}]}',
    '--set-json',
    'podAnnotations={"example.com/team":"agents"}',
    '--set-json',
    'env=[{"name":"LOG_LEVEL","value":"info"}]',
    '--set-json',
    'workers=[{"name":"research","target":"agent.ts","queue":"legate.task.research","once":true}]',
  ],
  ingress: [...secret, '--set', 'ingress.enabled=true'],
  'no other namespaces': [
    ...secret,
    '--set-json',
    'networkPolicy.ingressNamespaces=null',
    '--set-json',
    'networkPolicy.monitoringNamespaces=[]',
  ],
  // The image of an agent that `legate init` creates.
  'created agent': [...secret, '--set', 'target=agent.ts', '--set', 'image.repository=word-count'],
  'workers and monitors': [
    ...secret,
    '--set',
    'serviceMonitor.enabled=true',
    '--set-json',
    'workers=[{"name":"research","target":"agent.ts","queue":"legate.task.research"},{"name":"once","target":"once.ts","queue":"legate.task.once","once":true}]',
  ],
};

/**
 * Validates every object that the chart renders against the schemas of Kubernetes, KEDA and the
 * Prometheus Operator.
 */
export async function checkChart(): Promise<string> {
  const helmBinary = helm();
  const definitions = [
    join(goModule('github.com/kedacore/keda/v2', 'v2.18.1'), 'config/crd/bases'),
    join(
      goModule('github.com/prometheus-operator/prometheus-operator', 'v0.85.0'),
      'example/prometheus-operator-crd',
    ),
  ];
  const folder = mkdtempSync(join(tmpdir(), 'legate-chart-'));
  try {
    let objects = 0;
    for (const [name, values] of Object.entries(variants)) {
      output(helmBinary, ['lint', '--strict', chart, ...kubernetes, ...values]);
      const rendered = output(helmBinary, [
        'template',
        'my-agent',
        chart,
        ...kubernetes,
        '--namespace',
        'agents',
        ...values,
      ]);
      const file = join(folder, `${name.replaceAll(' ', '-')}.yaml`);
      writeFileSync(file, rendered);
      const answer = output(python(), [
        join(import.meta.dirname, 'validate.py'),
        'objects',
        definitions.join(delimiter),
        file,
      ]);
      objects += Number(answer);
    }
    return `${objects} objects of ${Object.keys(variants).length} renderings are valid`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
