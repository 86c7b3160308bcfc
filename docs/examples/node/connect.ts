// Buys a tool call over Connect with connect-web and a fetch that pays.
//   TOOLGATE_URL=http://127.0.0.1:8080 TOOLGATE_KEY=sk-agent-… WALLET=wallet.json node connect.ts
import { createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { ToolService } from "../../../gen/toolgate/v1/tool_service_pb.ts";
import { paying } from "./paying.ts";
import { settings } from "./settings.ts";

const { TOOLGATE_URL, TOOLGATE_KEY } = settings("TOOLGATE_URL", "TOOLGATE_KEY");
const withKey: Interceptor = (next) => (request) => {
  request.header.set("Authorization", `Bearer ${TOOLGATE_KEY}`);
  return next(request);
};
const transport = createConnectTransport({
  baseUrl: TOOLGATE_URL,
  interceptors: [withKey],
  fetch: paying,
});
const tools = createClient(ToolService, transport);
const { result, receipt } = await tools.callTool({
  tool: "vram_estimate",
  params: { model: "llama-3.1-8b", context_length: 8192 },
});
console.log(result?.["total"], receipt);
