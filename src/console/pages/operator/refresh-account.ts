import { createConnectQueryKey } from "@connectrpc/connect-query";
import { AccountService } from "#gen/toolgate/v1/account_service_pb.ts";
import { queryClient } from "../../rpc.ts";

/** Refetches accounts after a change. */
export async function refreshAccounts(): Promise<void> {
  const queryKey = createConnectQueryKey({ schema: AccountService.method.getAccount, cardinality: "finite" });
  await Promise.all([
    queryClient.invalidateQueries({ queryKey }),
    queryClient.invalidateQueries({ queryKey: ["list", "accounts"] }),
    queryClient.invalidateQueries({ queryKey: ["list", "entries"] }),
  ]);
}
