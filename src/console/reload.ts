import type { DescMethodUnary } from "@bufbuild/protobuf";
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { queryClient } from "./rpc.ts";

/** Loads the shown answers of a method, or the paged list of this name, again. */
export function reload(what: DescMethodUnary | string): Promise<void> {
  const queryKey =
    typeof what === "string"
      ? ["list", what]
      : createConnectQueryKey({ schema: what, cardinality: "finite" });
  return queryClient.invalidateQueries({ queryKey });
}
