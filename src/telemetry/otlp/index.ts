export { checkEndpoint } from './check-endpoint.ts';
export { OtlpExporter, type OtlpOptions } from './exporter.ts';
