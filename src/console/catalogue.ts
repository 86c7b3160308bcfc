import { useQuery } from "@connectrpc/connect-query";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";

/** The public door, for what needs no key: no cookie goes there. */
const publicTransport = createConnectTransport({
  baseUrl: location.origin,
  useHttpGet: true,
  fetch: (input, init) => fetch(input, { ...init, credentials: "omit" }),
});

/** The catalogue of tools with their prices, as anyone may read it. Changes seldom. */
export function useCatalogue() {
  return useQuery(ToolService.method.getCapabilities, {}, { transport: publicTransport, staleTime: 300_000 });
}
