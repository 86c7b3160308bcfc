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

/** Hex digits of a word; a trace's id has four. */
const DIGITS = 8;

/**
 * Compares the words of the id, combined by XOR, with the ratio as OpenTelemetry's SDK for JavaScript does: a
 * trace is sampled at every service or at none. The first digit decides all but one in sixteen.
 */
function isInRatio(traceId: string, ratio: number): boolean {
  if (ratio === 1) return true;
  const limit = Math.floor(ratio * 0xffff_ffff);
  for (let at = 0; at < DIGITS; at++) {
    let digit = 0;
    for (let from = at; from < traceId.length; from += DIGITS) digit ^= valueOf(traceId.charCodeAt(from));
    const ofLimit = (limit >>> (4 * (DIGITS - 1 - at))) & 0xf;
    if (digit !== ofLimit) return digit < ofLimit;
  }
  return false;
}

/** The value of a lower-case hex digit, whose letters follow on `a` (0x61). */
function valueOf(code: number): number {
  return code < 0x61 ? code - 0x30 : code - 0x57;
}
