import { create } from "@bufbuild/protobuf";
import { HealthService, HealthUnavailableSchema } from "#gen/toolgate/v1/health_service_pb.ts";
import { CLOCK_WARN_MS, type Health } from "../../../app/operations/readiness.ts";
import { DetailedError } from "../../error-details.ts";
import { bind, OPEN, type ServiceBinding } from "../../endpoint.ts";

/** The health check (specification 4.4). `version` is SemVer. */
export function healthService(health: Health, version: string): ServiceBinding {
  const healthy = () => {
    const { clockAheadMs: aheadMs } = health;
    const clockAheadSeconds = Math.abs(aheadMs) < CLOCK_WARN_MS ? undefined : aheadMs / 1_000;
    return { status: "ok", version, ...(clockAheadSeconds !== undefined && { clockAheadSeconds }) };
  };
  const unavailable = create(HealthUnavailableSchema, { status: "unavailable", version });
  return bind(HealthService, OPEN, {
    async getHealth(_request, { signal }) {
      if (await health.check(signal)) return healthy();
      throw DetailedError.healthUnavailable(unavailable);
    },
  });
}
