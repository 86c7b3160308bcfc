import { useQuery } from "@connectrpc/connect-query";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ToolService } from "#gen/toolgate/v1/tool_service_pb.ts";

/** Transport for public methods: sends no cookie. */
const publicTransport = createConnectTransport({
  baseUrl: location.origin,
  useHttpGet: true,
  fetch: (input, init) => fetch(input, { ...init, credentials: "omit" }),
});

/** Queries the public tool catalogue with its prices; cached for five minutes. */
export function useCatalogue() {
  return useQuery(ToolService.method.getCapabilities, {}, { transport: publicTransport, staleTime: 300_000 });
}
