import { Suspense } from "react";
import type { ChartProps } from "../chart/tooltip.ts";
import { lazyComponent } from "../lazy-component.ts";

const Chart = lazyComponent<"Chart", ChartProps>(() => import("../chart/chart.tsx"), "Chart");

/** Loads the chart code on first use; reserves its height. */
export function LazyChart(props: ChartProps) {
  return (
    <Suspense fallback={<div style={{ height: props.height ?? 200 }} role="status" aria-label="Loading" />}>
      <Chart {...props} />
    </Suspense>
  );
}
