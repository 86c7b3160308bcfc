import { lazy, Suspense } from "react";
import type { ChartProps } from "../chart.tsx";

const Chart = lazy(async () => ({ default: (await import("../chart.tsx")).Chart }));

/** A chart of {@link ChartProps}, whose code is fetched when the first one is shown. Its place is kept. */
export function LazyChart(props: ChartProps) {
  return (
    <Suspense fallback={<div style={{ height: props.height ?? 200 }} role="status" aria-label="Loading" />}>
      <Chart {...props} />
    </Suspense>
  );
}
