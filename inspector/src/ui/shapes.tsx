/** Shapes of the diagrams. */

interface TipProps {
  readonly id: string;
  readonly size: number;
  readonly kind: string;
  /** Keeps the size independent of the line width. @default false: it grows with the line */
  readonly isFixed?: boolean;
}

/** An arrowhead, for `marker-end`. */
export function Tip({ id, size, kind, isFixed = false }: TipProps) {
  return (
    <marker
      id={id}
      viewBox="0 0 8 8"
      refX="4"
      refY="4"
      markerWidth={size}
      markerHeight={size}
      markerUnits={isFixed ? 'userSpaceOnUse' : 'strokeWidth'}
      orient="auto"
    >
      <path class={kind} d="M0 0 8 4 0 8Z" />
    </marker>
  );
}

interface BoxProps {
  /** The center of the box. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly radius: number;
}

export function Box({ x, y, width, height, radius }: BoxProps) {
  return <rect x={x - width / 2} y={y - height / 2} width={width} height={height} rx={radius} />;
}
