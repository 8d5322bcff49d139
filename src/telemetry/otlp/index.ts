export { OtlpExporter, type OtlpOptions } from './exporter.ts';
