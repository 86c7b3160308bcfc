import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  type Sampler,
} from "@opentelemetry/sdk-trace";
import type { SamplerName } from "../domain/core/span.ts";

/**
 * Returns the sampler of a name (OpenTelemetry, SDK environment variables).
 * @param ratio of sampled traces
 */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  switch (name) {
    case "always_on":
      return new AlwaysOnSampler();
    case "always_off":
      return new AlwaysOffSampler();
    case "traceidratio":
      return new TraceIdRatioBasedSampler(ratio);
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: samplerOf("always_on", ratio) });
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: samplerOf("always_off", ratio) });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: samplerOf("traceidratio", ratio) });
  }
}
