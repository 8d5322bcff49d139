import type { Service } from '../service/index.ts';
import type { MetricsEndpoint } from './metrics-endpoint.ts';

/** One agent as it is served over HTTP. */
export interface HttpService extends Service {
  /** Where Prometheus reads the metrics of the process; undefined unless asked for. */
  readonly metricsEndpoint: MetricsEndpoint | undefined;
  /** Tells ingress rules the context of an answer: `X-A2A-Context-Id` and a cookie. */
  readonly setsContextHints: boolean;
  /** Origins of web pages that may call; `*` for all. */
  readonly corsOrigins: readonly string[];
}
