import type { ApplyConfigResponse } from "#gen/toolgate/v1/operations_service_pb.ts";
import { queryClient } from "../../../rpc.ts";
import { showToast } from "../../../ui/index.ts";

/** Loads everything again, then shows which version is in force, and which instances do not use it. */
export async function showApplied({
  version,
  instances,
  behind,
}: Pick<ApplyConfigResponse, "version" | "instances" | "behind">): Promise<void> {
  await queryClient.invalidateQueries();
  const inForce = `Version ${version} is in force`;
  if (behind.length === 0) return showToast(inForce);
  const names = behind.map(({ instance }) => instance).join(", ");
  showToast(`${inForce}, but ${behind.length} of ${instances} instances do not use it: ${names}`, "bad");
}
