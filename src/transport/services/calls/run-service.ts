import { RunService } from "#gen/toolgate/v1/run_service_pb.ts";
import type { Runs } from "../../../app/calls/history.ts";
import { found, pageQuery } from "../page.ts";
import { RUN_STATUS, runMessage } from "./run-message.ts";
import { bind, type ServiceBinding } from "../service-impl.ts";

/** The caller's runs (specification 4.6). */
export function runService(runs: Runs): ServiceBinding<typeof RunService> {
  return bind(RunService, {
    listRuns: {
      key: "key-or-sign-in",
      scope: "compute:read",
      async call(request, { caller }) {
        const { items, nextCursor } = await runs.list(pageQuery(caller.accountId, request, RUN_STATUS));
        return { items: items.map(runMessage), nextCursor, hasMore: nextCursor !== undefined };
      },
    },
    getRun: {
      key: "key-or-sign-in",
      scope: "compute:read",
      async call({ id }, { caller }) {
        return { run: runMessage(found(await runs.find(caller.accountId, id), "run")) };
      },
    },
  });
}
