import type { SamplerName } from "../domain/core/span.ts";

/**
 * Decides whether a trace is exported.
 * @param parent the caller's decision; undefined without a caller's trace
 */
export type Sampler = (traceId: string, parent: boolean | undefined) => boolean;

/**
 * Returns the sampler of a name (OpenTelemetry, SDK environment variables).
 * @param ratio of sampled traces
 */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case "always_on":
      return () => true;
    case "always_off":
      return () => false;
    case "traceidratio":
      return (traceId) => isInRatio(traceId, ratio);
    case "parentbased_always_on":
      return (_traceId, parent = true) => parent;
    case "parentbased_always_off":
      return (_traceId, parent = false) => parent;
    case "parentbased_traceidratio":
      return (traceId, parent = isInRatio(traceId, ratio)) => parent;
  }
}

/** The same for a trace at every service (OpenTelemetry's SDK for JavaScript combines the words by XOR). */
function isInRatio(traceId: string, ratio: number): boolean {
  const word = (at: number) => Number.parseInt(traceId.slice(at, at + 8), 16);
  const combined = (word(0) ^ word(8) ^ word(16) ^ word(24)) >>> 0;
  return ratio === 1 || combined < Math.floor(ratio * 0xffff_ffff);
}
